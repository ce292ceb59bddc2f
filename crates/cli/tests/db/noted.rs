//! What iogauge records in its own directory about a database on a server.

use crate::SHORT;
use crate::common::{Place, names, skip};
use iogauge_test_support::postgres::Server;

#[test]
fn purge_removes_the_acknowledgement_record() {
    let server = match Server::make() {
        Ok(server) => server,
        Err(why) => return skip("purge_removes_the_acknowledgement_record", &why),
    };
    let (place, url) = (Place::new(), server.url().to_string());
    let db = |action: &str, more: &[&str]| place.run(&[&["db", action, &url], more].concat());
    let noted = || names(&place.history().parent().unwrap().join("acknowledged"));
    db("setup", &["--size=1m", "--quiet"]).ends(0);
    db("create-globals", &["--globals=1", "--subscripts=100", "--quiet"]).ends(0);
    let lossy = ["--mode=write", "--set", "synchronous_commit=off"];
    db("run", &[&lossy[..], &SHORT].concat()).ends(0);
    assert_eq!(noted().len(), 1);
    let checked = db("verify", &["--json"]).ends(0).json();
    let may_lose = checked["may_lose"].as_str().unwrap_or_default();
    assert!(may_lose.starts_with("synchronous_commit is off"), "{checked}");
    db("purge", &["--yes"]).ends(0);
    assert_eq!(noted(), [""; 0]);
    assert_eq!(db("reset", &["--yes"]).ends(0).stdout, "removed 1 run\n");
}
