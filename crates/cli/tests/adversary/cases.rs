//! The cases: every way in which a job file can name a file, combined with engines and places in the job file.

/// What a case tries to reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// A foreign file.
    File,
    /// A file in a foreign directory, or a new one there.
    Directory,
    /// A loop device.
    Device,
    /// A loop device with a mounted file system.
    Mounted,
}

/// A case. In its texts, `@` stands for the path that it must not touch.
pub struct Case {
    pub name: String,
    pub reach: Reach,
    pub job: String,
    /// Names and contents of files beside the job file.
    pub files: Vec<(String, String)>,
    /// Names and destinations of symbolic links beside the job file.
    pub links: Vec<(String, String)>,
    pub variables: Vec<(String, String)>,
    /// A name that is also passed as TARGET.
    pub target: Option<String>,
}

const ALL: [Reach; 4] = [Reach::File, Reach::Directory, Reach::Device, Reach::Mounted];
const FILES: [Reach; 2] = [Reach::File, Reach::Directory];
const DEVICES: [Reach; 2] = [Reach::Device, Reach::Mounted];

/// A job on its own file, small enough to end at once.
const OWN: &str = "rw=randwrite\nsize=64k\noffset=%OFFSET\nbs=4k\nnumber_ios=16\n";
const READS: &str = "rw=read\nsize=64k\nbs=4k\nnumber_ios=16\n";

/// Engines and ways to create workers. Each case gets one at random.
const NOISE: &[&str] = &[
    "",
    "thread\n",
    "ioengine=libaio\niodepth=4\n",
    "ioengine=sync\nfsync=4\n",
    "ioengine=posixaio\nthread=1\n",
    "ioengine=vsync\n",
    "ioengine=pvsync2\ngroup_reporting\n",
    "numjobs=2\nthread\n",
    "refill_buffers\nrandrepeat=0\n",
];

/// A random number generator with the same sequence in every run (xorshift).
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

struct Gathered {
    cases: Vec<Case>,
    draws: Draws,
}

impl Gathered {
    /// Adds a case with an unchanged job file.
    fn plain(&mut self, name: &str, reach: Reach, job: &str) -> &mut Case {
        let number = self.cases.len();
        self.cases.push(Case {
            name: format!("{number} {name} ({reach:?})"),
            reach,
            job: job.to_owned(),
            files: Vec::new(),
            links: Vec::new(),
            variables: Vec::new(),
            target: None,
        });
        self.cases.last_mut().unwrap()
    }

    /// Adds a case and replaces `%NOISE` in its job file with a random entry of [`NOISE`].
    fn drawn(&mut self, name: &str, reach: Reach, job: &str) -> &mut Case {
        let noise = NOISE[self.draws.below(NOISE.len())];
        self.plain(name, reach, &job.replace("%NOISE", noise))
    }

    /// Adds cases with these job options at each place where a job file may have them.
    fn placed(&mut self, name: &str, reaches: &[Reach], base: &str, lines: &str) {
        for reach in reaches {
            let job = format!("[own]\n%NOISE{base}filename=own\n{lines}\n");
            self.drawn(name, *reach, &job);
            let job = format!("[global]\n{lines}\n[own]\n%NOISE{base}filename=own\n");
            self.drawn(&format!("{name} in [global]"), *reach, &job);
            let job = format!("[own]\n%NOISE{base}filename=own\ninclude more.inc\n");
            self.drawn(&format!("{name} included"), *reach, &job)
                .files
                .push(("more.inc".to_owned(), format!("{lines}\n")));
            let job = format!("[global]\ninclude one.inc\n[own]\n%NOISE{base}filename=own\n");
            let case = self.drawn(&format!("{name} included twice over"), *reach, &job);
            case.files.push(("one.inc".to_owned(), "include two.inc\n".to_owned()));
            case.files.push(("two.inc".to_owned(), format!("{lines}\n")));
            let job = format!("[globalx]\n{lines}\n[own]\n%NOISE{base}filename=own\n");
            self.drawn(&format!("{name} in [globalx]"), *reach, &job);
        }
    }
}

/// Returns all cases, the same in every run.
pub fn all() -> Vec<Case> {
    let mut all = Gathered { cases: Vec::new(), draws: Draws(0x9e37_79b9_7f4a_7c15) };
    several_names(&mut all);
    files_beside(&mut all);
    commands(&mut all);
    the_file_itself(&mut all);
    engines(&mut all);
    names(&mut all);
    all.cases
}

/// A second file beside that of the job.
fn several_names(all: &mut Gathered) {
    all.placed("filename twice", &ALL, OWN, "filename=@");
    for reach in ALL {
        all.drawn("filename in a list", reach, &format!("[own]\n%NOISE{OWN}filename=own:@\n"));
        let job = format!("[own]\n%NOISE{OWN}filename=${{LIST}}\n");
        let list = "own:".to_owned();
        all.drawn("filename in a variable", reach, &job.replace("${LIST}", "${LIST}@"))
            .variables
            .push(("LIST".to_owned(), list));
        let job = format!("[global]\nrw=read\n[own]\n%NOISE{OWN}readwrite=write\nfilename=@\n");
        all.drawn("rw under its other name", reach, &job);
        let job = format!("[own]\n%NOISE{OWN}filename=own\n[other]\n{OWN}filename=@\nstonewall\n");
        all.drawn("a second job", reach, &job);
        let job = format!("[own]\n%NOISE{OWN}filename=own\n[global]\nfilename=@\n[other]\n{OWN}");
        all.drawn("a second [global]", reach, &job);
        let job = format!("[own]\n%NOISE{OWN}file-name=own\nfilename=@ # own\n");
        all.drawn("a dash in an option", reach, &job);
    }
    for reach in DEVICES {
        let job = format!("[own]\n%NOISE{OWN}filename=@\nallow_mounted_write=1\n");
        all.drawn("a device of its own right", reach, &job);
        let job =
            "[own]\nrw=randtrim\nbs=4k\nsize=64k\noffset=%OFFSET\nnumber_ios=16\nfilename=@\n";
        all.plain("trims", reach, job);
    }
}

/// Options that name another file to write.
fn files_beside(all: &mut Gathered) {
    for option in ["mem=mmap:@", "mem=mmapshared:@", "iomem=mmapshared:@"] {
        all.placed(option, &FILES, READS, option);
    }
    for option in ["write_iolog=@", "write_iolog=%NEW"] {
        all.placed(option, &[Reach::Directory], READS, option);
    }
    for option in ["write_bw_log", "write_lat_log", "write_iops_log", "write_hist_log"] {
        let lines = format!("{option}=%CAGE/keep\nlog_avg_msec=1\nlog_hist_msec=1\nper_job_logs=0");
        // A log beside a foreign file is what the job asks for. A log in its place is not.
        for name in ["_bw.log", "_lat.log", "_iops.log", "_clat_hist.log", "_clat.log"] {
            let lines = lines.replace("%CAGE/keep", "canary");
            let job = format!("[own]\n%NOISE{READS}filename=own\n{lines}\n");
            let job = job.replace("=canary", "=%OWN/log");
            let case = all.drawn(&format!("{option} over a link"), Reach::File, &job);
            case.links.push((format!("log{name}"), "@".to_owned()));
        }
    }
    all.placed("opendir", &[Reach::Directory], OWN, "opendir=%CAGE");
    for job in ["read_iolog=%OWN/log\n", "read_iolog=%OWN/log\nreplay_no_stall=1\n"] {
        let log = "fio version 2 iolog\n@ add\n@ open\n@ write %OFFSET 4096\n@ close\n";
        for reach in ALL {
            let job = format!("[own]\nioengine=psync\nrw=write\nsize=64k\nfilename=own\n{job}");
            all.plain("a recorded log", reach, &job).files.push(("log".to_owned(), log.to_owned()));
        }
    }
}

/// Options, engines and expressions that run commands.
fn commands(all: &mut Gathered) {
    for option in ["exec_prerun", "exec_postrun"] {
        all.placed(option, &FILES, READS, &format!("{option}=rm @"));
        all.placed(option, &[Reach::Directory], READS, &format!("{option}=touch %NEW"));
    }
    for reach in FILES {
        let job = "[own]\nioengine=exec\nprogram=/bin/rm\narguments=@\nruntime=1\ntime_based\n";
        all.plain("a program", reach, job);
        let job = "[own]\nrw=read\nsize=64k\nfilename=own\nnumjobs=$ncpus'; rm @; echo '1\n";
        all.plain("arithmetic by a shell", reach, job);
    }
}

/// Options that remove, truncate or create the file of the job.
fn the_file_itself(all: &mut Gathered) {
    for reach in FILES {
        for lines in ["unlink=1\n", "unlink_each_loop=1\nloops=2\n"] {
            all.drawn(lines.trim(), reach, &format!("[own]\n%NOISE{READS}filename=@\n{lines}"));
            let job = format!("[globalx]\n{lines}[own]\n%NOISE{READS}filename=@\n");
            all.drawn(&format!("{} in [globalx]", lines.trim()), reach, &job);
        }
        for lines in ["", "fallocate=none\n", "create_on_open=1\n", "overwrite=1\n", "pre_read=1\n"]
        {
            let job = format!("[own]\n%NOISErw=read\nbs=4k\nsize=1m\nfilename=@\n{lines}");
            all.drawn("a file that is too short", reach, &job);
        }
        for lines in ["file_append=1\n", "fill_device=1\n", "create_only=1\nsize=1m\n"] {
            let job = format!("[own]\n%NOISErw=write\nbs=4k\nsize=64k\nfilename=@\n{lines}");
            all.drawn(lines.trim(), reach, &job);
        }
        for lines in ["verify=md5\ndo_verify=0\n", "verify=crc32c\nverify_state_save=1\n"] {
            all.drawn("verify", reach, &format!("[own]\n%NOISE{OWN}filename=@\n{lines}"));
        }
    }
}

/// Engines that do other things to files.
fn engines(all: &mut Gathered) {
    for reach in FILES {
        for engine in ["filedelete", "filecreate", "falloc", "ftruncate", "e4defrag", "mtd"] {
            let job = format!("[own]\nioengine={engine}\nrw=write\nbs=4k\nsize=128k\nfilename=@\n");
            all.plain(engine, reach, &job);
        }
        let job = "[own]\nioengine=net\nprotocol=unix\nlisten\nrw=read\nbs=4k\nsize=64k\nfilename=@\n\
                   runtime=1\ntime_based\n";
        all.plain("a socket", reach, job);
        let job = "[own]\nioengine=mmap\nrw=randwrite\nbs=4k\nsize=64k\nfilename=@\n";
        all.plain("mmap", reach, job);
        let job = "[own]\nioengine=splice\nrw=write\nbs=4k\nsize=64k\nfilename=@\n";
        all.plain("splice", reach, job);
    }
}

/// Names that fio parses in a different way, and links.
fn names(all: &mut Gathered) {
    for reach in ALL {
        for (name, cut) in [("link#x", "link"), ("link;x", "link"), ("link:x", "link")] {
            let job = format!("[own]\n%NOISE{OWN}filename={name}\n");
            let case = all.drawn(&format!("the name {name}"), reach, &job);
            case.links.push((cut.to_owned(), "@".to_owned()));
            case.target = Some(name.to_owned());
        }
        for name in ["link", "./link", "link/", "x/../link", "link\u{a0}"] {
            let job = format!("[own]\n%NOISE{OWN}filename={name}\n");
            let case = all.drawn(&format!("a link as {name:?}"), reach, &job);
            case.links.push((name.trim_matches(['.', '/']).to_owned(), "@".to_owned()));
            case.links.retain(|(name, _)| !name.contains('/'));
            case.target = Some(name.to_owned());
        }
        let case = all.drawn(
            "a link by its directory",
            reach,
            &format!("[own]\n{OWN}directory=%OWN\nfilename=link\n%NOISE"),
        );
        case.links.push(("link".to_owned(), "@".to_owned()));
        let case = all.drawn(
            "a link by its format",
            reach,
            &format!("[own]\n{OWN}filename_format=link\n%NOISE"),
        );
        case.links.push(("link".to_owned(), "@".to_owned()));
        let case = all.drawn("a link by the job's name", reach, &format!("[own]\n%NOISE{OWN}"));
        for link in ["own.0.0", "own.1.0"] {
            case.links.push((link.to_owned(), "@".to_owned()));
        }
        let case = all.plain("the name itself", reach, &format!("[own]\n{OWN}filename=@\n"));
        case.target = None;
    }
}
