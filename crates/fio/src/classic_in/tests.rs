use super::*;
use iogauge_model::result::{BlockRange, LatencyShare};
use proptest::prelude::*;

/// Returns the rows as `SYSTEM NAME USERS SIDE IOPS`, and the problems.
fn read(text: &str) -> (Vec<String>, Vec<String>) {
    let (mut rows, mut problems) = (Vec::new(), Vec::new());
    let mut sink = |found| match found {
        Found::Result(system, result) => {
            for (side, direction) in result.directions() {
                let users = result.users.map_or("-".to_owned(), |users| users.to_string());
                let (system, iops) = (system.as_deref().unwrap_or("?"), direction.iops);
                rows.push(format!("{system} {} {users} {side} {iops}", result.name));
            }
        }
        Found::Problem(problem) => problems.push(problem.to_string()),
    };
    let mut reader = ClassicReader::new("f");
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim_ascii();
        if !line.is_empty() {
            reader.line(line, number, &mut sink);
        }
    }
    reader.finish(&mut sink);
    (rows, problems)
}

const HEADING: &str = "test  users size         MB       ms      min      max      std    IOPS";
const FIGURES: &str = "135.875    0.055    0.034    8.080    0.131   17392";

/// Returns the only result of a line below a heading.
fn row(line: &str) -> FioResult {
    let mut rows = Vec::new();
    let mut reader = ClassicReader::new("f");
    let mut sink = |found| match found {
        Found::Result(_, result) => rows.push(*result),
        Found::Problem(problem) => panic!("{problem}"),
    };
    reader.line(HEADING, 1, &mut sink);
    assert!(reader.line(line, 2, &mut sink), "{line}");
    reader.finish(&mut sink);
    assert_eq!(rows.len(), 1);
    rows.remove(0)
}

/// Returns the problem of a line below a heading.
fn problem(line: &str) -> String {
    let (rows, problems) = read(&format!("{HEADING}\n{line}"));
    assert!(rows.is_empty() && problems.len() == 1, "{line}: {rows:?} {problems:?}");
    problems[0].strip_prefix("f:2: row of a table: ").unwrap().to_owned()
}

#[test]
fn figures_of_a_row_have_their_units() {
    let result = row(&format!("read  1   8K r  {FIGURES}"));
    assert!(result.from_table);
    assert_eq!((result.rw.as_str(), result.users, result.line), ("read", Some(1), 2));
    assert_eq!((result.fio_version.as_str(), result.iodepth), ("", None));
    let read = result.read.unwrap();
    assert_eq!((read.ios, read.bytes, read.runtime_ns), (0, 0, 0), "they are unknown");
    assert_eq!((read.bytes_per_sec, read.iops), (135.875 * 1_048_576.0, 17_392.0));
    assert_eq!(read.block, Some(BlockRange { min_bytes: 8192, max_bytes: 8192 }));
    let lat = read.lat.unwrap();
    assert_eq!((lat.mean_ns, lat.min_ns, lat.max_ns), (55_000.0, 34_000, 8_080_000));
    assert_eq!((lat.stddev_ns, lat.percentiles), (131_000.0, vec![]));
}

#[test]
fn users_may_be_glued_to_the_name() {
    for (line, name, users) in [
        ("read1 thread 8K r", "read", Some(1)),
        ("read8 threads 1M r", "read", Some(8)),
        ("read 16 threads 1M r", "read", Some(16)),
        ("randread128 8K r", "randread", Some(128)),
        ("my job  4   8K r", "my job", Some(4)),
        ("a1  4   8K r", "a1", Some(4)),
        ("read  -   8K r", "read", None),
    ] {
        for end in ["", ",", " ,"] {
            let result = row(&format!("{line}  {FIGURES}{end}"));
            assert_eq!((result.name.as_str(), result.users), (name, users), "{line}");
        }
    }
}

#[test]
fn column_of_a_share_follows_from_its_place() {
    let shares = |line: &str| {
        let result = row(line);
        let of = |share: &LatencyShare| (share.below_ns.unwrap_or(0) / 1000, share.percent);
        result.shares.iter().map(of).collect::<Vec<_>>()
    };
    let line = format!("read  1   8K r  {FIGURES}           99     0");
    assert_eq!(shares(&line), [(1000, 99.0), (4000, 0.0)]);
    let line = format!("read  1   8K r  {FIGURES} 1 2 3 4 5 6 7 8 9 10");
    assert_eq!((shares(&line)[9], shares(&line).len()), ((0, 10.0), 10));
    let line = format!("read  1   8K r  {FIGURES}     47    52,   0.069,0.1,0.2,0.3,0.4,-");
    assert_eq!(shares(&line), [(50, 47.0), (1000, 52.0)]);
    let percentiles = row(&line).read.unwrap().lat.unwrap().percentiles;
    assert_eq!((percentiles[0], percentiles.len()), ((95.0, 69_000), 5));

    let (rows, problems) = read(&format!("read  1   8K r  {FIGURES}  47 52"));
    assert_eq!(rows.len(), 1, "the other figures are kept");
    assert_eq!(problems, ["f:1: the shares are not below their headings; they are left out"]);
}

#[test]
fn headings_name_the_system_until_the_next() {
    let text = format!(
        "## Volume A ##\n\n{HEADING}\nread  1   8K r  {FIGURES}\n\n{HEADING}\n\
         write  1   8K w  {FIGURES}\nVolume B:\n{HEADING} \nread  2   8K r  {FIGURES}\n\
         $ ./fioparse *.out\n{HEADING}\nread  3   8K r  {FIGURES}\n"
    );
    let (rows, problems) = read(&text);
    let expected = [
        "Volume A read 1 read 17392",
        "Volume A write 1 write 17392",
        "Volume B read 2 read 17392",
        "? read 3 read 17392",
    ];
    assert_eq!((rows, problems.len()), (expected.map(str::to_owned).to_vec(), 0));
}

#[test]
fn malformed_rows_are_told_with_the_reason() {
    for (line, reason) in [
        ("read  1   8Q r  1 1 1 1 1 1", "the block size is neither a size nor -"),
        ("read  1   0 r  1 1 1 1 1 1", "the block size is neither a size nor -"),
        ("read  1   8K r  1 1 1", "3 figures instead of 6"),
        ("read  1   8K", "the direction is missing, which is r, w, t or m"),
        ("randread  16", "the direction is missing, which is r, w, t or m"),
        ("read  8   8K   1 1 1 1 1 1", "the direction is missing, which is r, w, t or m"),
        ("read  8   512  R  1 1 1 1 1 1", "the direction is missing, which is r, w, t or m"),
        ("read16 threads 8K  R  1 1 1 1 1 1", "the direction is missing, which is r, w, t or m"),
        ("read  -8  8K r  1 1 1 1 1 1", "the number of users cannot be \"-8\""),
        ("read  1.5 8K r  1 1 1 1 1 1", "the number of users cannot be \"1.5\""),
        ("read  0   8K r  1 1 1 1 1 1", "the number of users cannot be \"0\""),
        ("read   8K r  1 1 1 1 1 1", "the number of users is missing behind read"),
        ("16   8K r  1 1 1 1 1 1", "the name of the test is missing"),
        ("read  1   8K r  -1 1 1 1 1 1", "the bandwidth cannot be \"-1\""),
        ("read  1   8K r  inf 1 1 1 1 1", "the bandwidth cannot be \"inf\""),
        ("read  1   8K r  1 nan 1 1 1 1", "the mean latency cannot be \"nan\""),
        ("read  1   8K r  1 1 1 1 1 1e9", "IOPS cannot be \"1e9\""),
        ("read  1   8K r  1 1 1 1 1 9999999999999", "IOPS cannot be \"9999999999999\""),
        ("read  1   8K r  1 1 1 1 1 -", "IOPS are missing"),
        ("read  1   8K r  1 1 - 1 1 1", "a figure of the latency is missing"),
        ("read  1   8K r  1 1 1 1 1 1,2,3", "2 percentiles instead of 6"),
        (
            "read  1   8K r  1 1 1 1 1 1 9 9 9 9 9 9 9 9 9 99",
            "the shares sum up to more than 100 %",
        ),
    ] {
        assert_eq!(problem(line), reason, "{line}");
    }
}

#[test]
fn halves_of_a_mixed_test_are_one_result() {
    let both = |size: &str| {
        let text = format!(
            "{HEADING}\nrandrw  1  16K r  {FIGURES}\nrandrw  1  {size} w  {FIGURES}\nread 1 8K r {FIGURES}"
        );
        let mut results = 0;
        let mut reader = ClassicReader::new("f");
        let mut sink = |found| results += u32::from(matches!(found, Found::Result(..)));
        for (line, number) in text.lines().zip(1..) {
            reader.line(line, number, &mut sink);
        }
        reader.finish(&mut sink);
        results
    };
    assert_eq!((both("16K"), both("8K")), (2, 3));
}

#[test]
fn line_above_a_heading_is_a_name_unless_it_is_a_prompt_or_of_fio() {
    let long = format!("Volume {}", "B".repeat(250));
    for (line, system) in [
        ("SSD 100%", "SSD 100%"),
        ("SATA RAID5, 6 disks, bs=8k", "SATA RAID5, 6 disks, bs=8k"),
        ("Array <b>; host> x | 1 #2", "Array <b>; host> x | 1 #2"),
        ("# box 7 #", "box 7"),
        ("$ ./fioparse *.out", "?"),
        ("root@box:~# ./fioparse *.out", "?"),
        ("[root@box out]$ ./fioparse *.out", "?"),
        ("  vda: ios=1/2, merge=0/0", "?"),
        ("| 99.00th=[  123]", "?"),
        ("fio-3.33", "?"),
        ("Starting 1 process", "?"),
        ("Jobs: 1 (f=1)", "?"),
        ("Run status group 0 (all jobs):", "?"),
        ("fio-server", "fio-server"),
        ("-----", "?"),
        ("}", "?"),
        (&long, "?"),
    ] {
        let text = format!(
            "A\n{HEADING}\nread 1 8K r {FIGURES}\n{line}\n{HEADING}\nread 2 8K r {FIGURES}\n"
        );
        let (rows, problems) = read(&text);
        let expected = ["A read 1 read 17392".to_owned(), format!("{system} read 2 read 17392")];
        assert_eq!(rows, expected, "{line}");
        assert_eq!(problems.len(), usize::from(line.len() > 255), "{problems:?}");
    }
}

/// Returns a row of CSV with these cells first, and 1 in the others.
fn csv(begin: &str, columns: usize) -> String {
    let cells = begin.split(',').map(str::to_owned);
    cells.chain(std::iter::repeat("1".to_owned())).take(columns).collect::<Vec<_>>().join(",")
}

#[test]
fn csv_rows_may_end_with_a_comma_and_one_bad_quote_costs_one_row() {
    let row = |begin: &str| csv(begin, 31);
    let header = COLUMNS.join(",");
    let text = [
        format!("{header},"),
        row("read,1,8K") + ",",
        row("\"read,2,8K"),
        row("read,4,8K"),
        row("read,8,8K").rsplit_once(',').unwrap().0.to_owned() + ",",
    ];
    let (rows, problems) = read(&text.join("\n"));
    let users: Vec<&str> = rows.iter().map(|row| row.split(' ').nth(2).unwrap()).collect();
    assert_eq!(users, ["1", "4", "8"], "{rows:?}");
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(format!("{problems:?}").contains("a quote is not closed"), "{problems:?}");
    assert!(format!("{problems:?}").contains('3'), "{problems:?}");
}

#[test]
fn csv_names_systems_and_directions() {
    let header = format!("system, {}", COLUMNS.join(" , "));
    let text = [
        &header,
        &csv("a b,read,1,8K", 32),
        &csv("\"'=c\",randrw_r,2,8K", 32),
        &csv(",randrw_w,2,8K", 32),
        &csv("d,randrw,2,8K", 32),
        &csv("d,read,2,8K", 31),
        &csv("d,read,2,8X", 32),
        "the end, of it",
        &csv("d,read,2,8K", 32),
    ]
    .map(String::from)
    .join("\n");
    let (rows, problems) = read(&text);
    let expected =
        ["a b read 1 read 1", "=c randrw_r 2 read 1", "? randrw_w 2 write 1", "d randrw 2 mixed 1"];
    assert_eq!(rows, expected);
    let expected = [
        "f:6: row of CSV: 31 cells instead of 32",
        "f:7: row of CSV: the block size cannot be \"8X\"",
    ];
    assert_eq!(problems, expected);
}

#[test]
fn matrix_is_named_before_or_behind_it() {
    let cells = csv("\"read\", 1,\"8K\"", 31);
    for (text, system) in [
        (format!("m <- matrix(c(\n {cells}\n),nrow=31)\n"), "?"),
        (format!("boxm <- NULL\nm <- matrix(c(\n {cells}\n),nrow=31)\n"), "box"),
        (format!("boxm<-matrix(c({cells}),nrow=31)\ntm <- t(m)\n"), "box"),
        (
            format!("m <- matrix(c(\n {cells}\n),nrow=31)\ntesttype <- \"my \\\"box\\\"\""),
            "my \"box\"",
        ),
        (format!("m <- matrix(c(\n {cells}\n),nrow=31)\ntesttype <- \"\""), "?"),
    ] {
        let (rows, problems) = read(&text);
        assert_eq!(rows, [format!("{system} read 1 read 1")], "{text}");
        assert!(problems.is_empty(), "{problems:?}");
    }
    let wrong = csv("\"read\", 1,\"8K\"", 30);
    let (rows, problems) = read(&format!("m <- matrix(c(\n{cells},\n{wrong}\n),nrow=31)"));
    assert_eq!(rows.len(), 1);
    assert_eq!(problems, ["f:3: row of a matrix: 30 cells instead of 31"]);
}

#[test]
fn other_text_is_not_a_table() {
    for text in [
        "m <- matrix(c(1,2,3),nrow=3)\nm",
        "m <- matrix(c(\ncharacter(0)\n),ncol=31,byrow=TRUE)",
        "name,users\na,1",
        "  read : io=1040.9MB, bw=355140KB/s, iops=44392 , runt=  3001msec",
        "drwxr-xr-x 2 root root 4096 r 1 2 3 4 5 6",
        "     lat (usec): min=34 , max=8080 , avg=55.30, stdev=130.50",
        "use 8K r for 1 2 3 4 words",
    ] {
        assert_eq!(read(text), (vec![], vec![]), "{text}");
    }
}

proptest! {
    #[test]
    fn arbitrary_sequences_of_table_lines_are_accepted(
        lines in prop::collection::vec(prop::sample::select(vec![
            HEADING, "Volume A", "read  1   8K r  1 1 1 1 1 1", "rw 1 8K r - - - - - 1", "rw 1 8K w - - - - - 1",
            "read 99999999999999999999 8K r 1 1 1 1 1 1", "a 1 - t 1 1 1 1 1 1,,", "a 1 8K-4K m 1 1 1 1 1 1      7",
            "m <- NULL", "am <- matrix(c(", "\"read\",1,\"8K\"", ")", "),nrow=31)", "testtype <- \"", "\"", ",,,,", "é r é",
            "name,users,bs,MB,lat,min,max,std,iops,us50,us100,us250,us500,ms1,ms2,ms4,ms10,ms20,ms50,ms100,ms250,\
             ms500,s1,s2,s5,p95_00,p99_00,p99_50,p99_90,p99_95,p99_99",
            "a,1,8K,1,1,1,1,1,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1,1,1,1,1,1",
            "a,1,8K,,,,,,1,,,,,,,,,,,,,,,,,,,,,,",
        ]), 0..30),
    ) {
        let (rows, problems) = read(&lines.join("\n"));
        prop_assert!(rows.len() + problems.len() <= lines.len());
    }

    #[test]
    fn arbitrary_lines_are_accepted(lines in prop::collection::vec(".{0,80}", 0..4)) {
        let _ = read(&format!("{HEADING}\n{}", lines.join("\n")));
        let _ = read(&format!("m <- matrix(c(\n{}", lines.join("\n")));
    }

    #[test]
    fn sizes_are_within_their_limits(text in "[0-9]{0,20}[kKmMgGx]?(-[0-9]{0,9}[kM]?)?") {
        if let Some(range) = row::size(&text) {
            prop_assert!(range.min_bytes >= 1 && range.min_bytes <= range.max_bytes);
            prop_assert!(range.max_bytes <= 1 << 40);
        }
    }
}
