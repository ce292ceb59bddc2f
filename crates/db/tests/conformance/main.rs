//! Runs each case on every backend, each time on a new database.
//!
//! A backend that cannot be used here is reported as skipped, or fails if `IOGAUGE_REQUIRE_ALL=1` is set. IRIS cannot be
//! installed by a test: it is tried where `IOGAUGE_TEST_IRIS` names a namespace of an instance, and alone then, one case
//! after another.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod cases;
mod fixture;
mod life;
mod pauses;

use fixture::Fixture;
use iogauge_db::BACKENDS;
use iogauge_test_support::skip;

/// Runs a case on every backend.
fn walk(name: &str, case: fn(&Fixture)) {
    let with_iris = std::env::var_os(fixture::iris::VARIABLE).is_some();
    for info in BACKENDS.iter().filter(|info| (info.name == "iris") == with_iris) {
        let made = match (info.absent)() {
            Some(why) => Err(why),
            None => fixture::make(info.name),
        };
        match made {
            Ok(fixture) => {
                eprintln!("{name} on {}", fixture.url);
                case(&fixture);
            }
            Err(why) => skip(&format!("{name} on {}", info.name), &why),
        }
    }
}

/// Defines a test for each case.
macro_rules! walk_all {
    ($($place:ident :: $case:ident),* $(,)?) => {
        $(#[test]
        fn $case() {
            walk(stringify!($case), $place::$case);
        })*
    };
}

walk_all!(
    life::setup_is_done_once,
    life::what_is_missing_is_told_by_every_call,
    life::globals_are_there_as_they_were_made,
    life::what_is_filled_takes_what_was_told,
    life::an_interrupted_global_leaves_nothing,
    life::dropped_globals_leave_a_database_as_after_setup,
    life::an_interrupted_setup_is_none,
    life::purge_leaves_nothing,
    life::purge_leaves_what_is_foreign,
    life::purge_harms_nothing_that_was_planted,
    life::a_folder_that_is_a_link_is_none_of_ours,
    life::unknown_settings_are_refused,
    cases::every_acknowledged_update_is_there,
    cases::blocks_hold_data_and_can_be_read,
    cases::the_dice_fall_as_they_should,
    cases::workers_rest_and_come_back,
    cases::settled_workers_are_those_asked_for,
    cases::cuts_lose_nothing,
    pauses::pauses_are_as_long_as_asked,
    pauses::a_long_pause_ends_with_the_run,
    cases::a_second_run_is_kept_out,
    cases::runs_read_beside_one_that_writes,
    cases::readers_and_writers_of_one_run_do_one_thing_each,
    cases::other_hosts_join_a_shared_run_on_a_server,
    cases::a_drained_database_rests,
    cases::a_fault_ends_all_workers,
);

#[test]
fn every_backend_documents_its_settings() {
    for info in BACKENDS {
        let name = info.name;
        assert_eq!(BACKENDS.iter().filter(|other| other.name == name).count(), 1, "{name}");
        assert!(info.url.starts_with(&format!("{name}:")), "{name}: {}", info.url);
        assert!(!info.about.is_empty(), "{name}");
        for setting in info.settings {
            let key = setting.key;
            assert_eq!(key, key.to_ascii_lowercase(), "{name}: keys are read in lower case");
            assert!(!setting.default.is_empty(), "{name}: {key} has no default");
            assert!(!setting.help.is_empty(), "{name}: {key} has no help");
            let same = info.settings.iter().filter(|other| other.key == key).count();
            assert_eq!(same, 1, "{name}: {key}");
        }
    }
}

#[test]
fn every_backend_has_a_test_fixture() {
    for info in BACKENDS {
        assert!(fixture::is_known(info.name), "{} has no fixture", info.name);
    }
}
