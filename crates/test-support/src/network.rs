//! Several hosts on this machine, and MPI between them.
//!
//! A host has its own network, host name, processes and mounts, and shares the kernel and the file systems. One more
//! host, `front`, has the switch and is where `mpirun` runs. All links and addresses are in the namespaces of the hosts,
//! so networks of several tests do not meet each other or the machine's network.

use crate::processes::{children, run, state_of};
use crate::program::fio::program;
use crate::{eventually, text};
use rustix::process::{Pid, Signal, kill_process};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The hosts have the addresses 1 and up in it.
const SUBNET: &str = "10.77.0";
const FRONT: u32 = 254;
/// The address of a server.
const SERVER: u32 = 253;

/// What `mpirun` starts on a host, the parents of the ranks.
const DAEMONS: [&str; 2] = ["orted", "hydra_pmi_proxy"];

/// The namespaces of a host that a command enters: all of them, or all but that of processes.
const ALL: &str = "--net --uts --ipc --mount --pid";
const ALL_BUT_PROCESSES: &str = "--net --uts --ipc --mount";

/// Removes the copies of file systems that tests mounted: a copy would keep a device busy after the unmount.
const FORGET: &str = r#"cut -d' ' -f5 /proc/self/mountinfo | while read -r point; do
    case $point in "$0"/*) umount --lazy "$point" 2>/dev/null;; esac
done"#;

/// Stays until this process ends. Nobody waits for processes whose parent has ended, so the kernel has to.
const STAY: &str = "trap '' CHLD && echo ready && exec cat";

/// Clones a mount of this machine and attaches it in another mount namespace: open_tree(2) and move_mount(2).
const BIND: &str = r#"
$tree = syscall(428, -100, $ARGV[1], 1);
$tree >= 0 or die "$ARGV[1]: $!\n";
exec "nsenter", "--target", $ARGV[0], "--mount", "perl", "-e",
    '$itself = ""; syscall(429, $ARGV[0] + 0, $itself, -100, $ARGV[1], 4) == 0 or die "$ARGV[1]: $!\n"', $tree, $ARGV[2]"#;

/// An implementation of MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mpi {
    Open,
    Mpich,
}

impl Mpi {
    pub const ALL: [Self; 2] = [Self::Open, Self::Mpich];

    /// Returns the command that starts programs.
    pub fn launcher(self) -> &'static str {
        match self {
            Self::Open => "mpirun.openmpi",
            Self::Mpich => "mpirun.mpich",
        }
    }

    /// Returns the command that compiles C.
    pub fn compiler(self) -> &'static str {
        match self {
            Self::Open => "mpicc.openmpi",
            Self::Mpich => "mpicc.mpich",
        }
    }

    /// Returns the options of the launcher that set a variable for the ranks.
    pub fn variable(self, name: &str, value: &str) -> Vec<String> {
        match self {
            Self::Open => vec!["-x".to_owned(), format!("{name}={value}")],
            Self::Mpich => vec!["-genv".to_owned(), name.to_owned(), value.to_owned()],
        }
    }
}

/// Hosts `host-1`, `host-2` and so on, with the addresses 10.77.0.1 and up. All of them, and the processes on them, end
/// with this value, and with the process that created it.
pub struct Network {
    front: Host,
    hosts: Vec<Host>,
    directory: tempfile::TempDir,
}

impl Network {
    /// Starts this many hosts. A host sees the machine's file systems, but none that a test has mounted below the
    /// directory for temporary files; [`Network::bind()`] shows it one.
    pub fn new(hosts: usize) -> Result<Self, String> {
        assert!((1..FRONT as usize).contains(&hosts), "{hosts} hosts");
        run("ip", &["-Version"])?;
        let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
        for name in ["home", "tmp"] {
            std::fs::create_dir(directory.path().join(name)).map_err(|error| error.to_string())?;
        }
        let names = directory.path().join("hosts");
        std::fs::write(&names, names_of(hosts)).map_err(|error| error.to_string())?;
        let front = Host::front(&names)?;
        let mut network = Self { front, hosts: Vec::new(), directory };
        let starting: Vec<_> =
            (1..=hosts).map(|number| network.front.beside(number)).collect::<Result<_, _>>()?;
        for (number, child) in (1..).zip(starting) {
            network.hosts.push(Host::started(child, Some(number))?);
        }
        network.connect()?;
        network.write_scripts();
        Ok(network)
    }

    /// Connects each host with the switch.
    fn connect(&self) -> Result<(), String> {
        let mut links = String::new();
        for (number, host) in (1..).zip(&self.hosts) {
            let first = host.first;
            let _ =
                writeln!(links, "link add host-{number} type veth peer name eth0 netns {first}");
            let _ = writeln!(links, "link set host-{number} master switch up");
        }
        self.front.ip(&links)?;
        for (number, host) in (1..).zip(&self.hosts) {
            host.ip(&format!(
                "link set lo up\naddr add {} dev eth0\nlink set eth0 up\n",
                prefix(number)
            ))?;
        }
        Ok(())
    }

    /// Writes the script that runs a command on `front`, and the one that `mpirun` calls like ssh.
    fn write_scripts(&self) {
        let directory = self.directory.path();
        let enter = format!(
            "exec nsenter --target {} {ALL_BUT_PROCESSES} \
             sh -c 'cd \"$0\" && exec \"$@\"' \"$PWD\" \"$@\"",
            self.front.first
        );
        program(directory, "front", &enter);
        let mut cases = String::new();
        for (number, host) in (1..).zip(&self.hosts) {
            let _ = writeln!(cases, "host-{number}) first={};;", host.first);
        }
        let home = directory.join("home");
        // Like ssh: without options, in a fresh environment, and by a shell that reads the words again.
        let agent = format!(
            "while [ \"${{1#-}}\" != \"$1\" ]; do shift; done\n\
             case $1 in\n{cases}*) echo \"no host $1\" >&2; exit 255;;\nesac\nshift\n\
             exec env -i PATH=\"$PATH\" HOME={} nsenter --target $first {ALL} sh -c \"$*\"",
            home.display()
        );
        program(directory, "agent", &agent);
    }

    /// Returns a command that will run on a host, in its root directory.
    pub fn on(&self, host: usize, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.host(host).first.to_string()]);
        command.args(ALL.split(' ')).arg(program).stdin(Stdio::null());
        command
    }

    /// Returns the start of a program from which mpirun reaches the hosts. Its process is the program itself.
    pub fn front(&self, mpi: Mpi, program: &str) -> Command {
        let mut command = Command::new("sh");
        command.arg(self.directory.path().join("front")).arg(program).stdin(Stdio::null());
        let agent = self.directory.path().join("agent");
        match mpi {
            Mpi::Open => {
                let subnet = format!("{SUBNET}.0/24");
                let temporary = self.directory.path().join("tmp");
                // Hosts with the same names, of several networks, do not share a directory for the session.
                let options = [
                    ("orte_tmpdir_base", text(&temporary)),
                    ("plm", "rsh"),
                    ("plm_rsh_agent", text(&agent)),
                    ("plm_rsh_no_tree_spawn", "1"),
                    ("oob_tcp_if_include", &subnet),
                    ("btl_tcp_if_include", &subnet),
                    ("pml", "ob1"),
                    ("btl", "tcp,self"),
                    ("mpi_yield_when_idle", "1"),
                ];
                command.envs(options.map(|(name, value)| (format!("OMPI_MCA_{name}"), value)));
            }
            Mpi::Mpich => {
                command.env("HYDRA_LAUNCHER", "ssh").env("HYDRA_LAUNCHER_EXEC", agent);
                command.env("UCX_TLS", "tcp,self").env("UCX_NET_DEVICES", "eth0");
            }
        }
        command
    }

    /// Returns a command that will start a program, whose name and arguments are to be added, once on each host: rank 0
    /// on `host-1`, and so on. Its process is `mpirun` itself. Open MPI passes no variables to the ranks but those of
    /// [`Mpi::variable()`], MPICH passes all. `HOME` is a directory that is removed with the network, unless passed.
    pub fn mpirun(&self, mpi: Mpi) -> Command {
        let mut command = self.front(mpi, mpi.launcher());
        let ranks = self.hosts.len().to_string();
        let names = (1..=self.hosts.len()).map(|number| format!("host-{number}"));
        match mpi {
            Mpi::Open => {
                let slots: Vec<String> = names.map(|name| name + ":1").collect();
                command.args(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]);
                command.args(["--host", &slots.join(",")]);
            }
            Mpi::Mpich => {
                command.args(["-hosts", &names.collect::<Vec<_>>().join(",")]);
            }
        }
        command.args(["-n", &ranks]);
        command
    }

    /// Gives `front` one more address, on which a server can listen. Returns it, and the file of the network namespace
    /// that the server has to enter. A host can lose its way to that address without losing `mpirun`.
    pub fn server_address(&self) -> Result<(String, PathBuf), String> {
        self.front.ip(&format!("addr add {} dev switch\n", prefix(SERVER)))?;
        let namespace = PathBuf::from(format!("/proc/{}/ns/net", self.front.first));
        Ok((format!("{SUBNET}.{SERVER}"), namespace))
    }

    /// Takes a host's way to the address of a server.
    pub fn hide_server(&self, host: usize) -> Result<(), String> {
        self.host(host).ip(&format!("route add unreachable {SUBNET}.{SERVER}/32\n"))
    }

    /// Makes a path lead to another file or directory on a host. `onto` has to exist, and keeps its content elsewhere.
    pub fn bind(&self, host: usize, from: &Path, onto: &Path) -> Result<(), String> {
        let first = self.host(host).first.to_string();
        run("perl", &["-e", BIND, &first, text(from), text(onto)]).map(drop)
    }

    /// Returns the ids, on this machine, of the processes that `mpirun` started on a host as a rank: one, or none while
    /// no program runs there. Processes that these started are not among them.
    pub fn ranks(&self, host: usize) -> Vec<u32> {
        let is_daemon = |process: &u32| {
            let name = std::fs::read_to_string(format!("/proc/{process}/comm"));
            name.is_ok_and(|name| DAEMONS.contains(&name.trim_end()))
        };
        let daemons = self.host(host).processes().into_iter().filter(is_daemon);
        // A daemon is the child of one for a moment.
        daemons.flat_map(children).filter(|rank| !is_daemon(rank)).collect()
    }

    /// Stops all processes of a host. Its kernel goes on: connections stay, and nobody answers.
    pub fn freeze(&self, host: usize) {
        let host = self.host(host);
        // nsenter(1) stops itself when its child stops, and would do so again when continued.
        stop(|| host.entering());
        stop(|| host.processes());
    }

    /// Continues the processes of a host.
    pub fn thaw(&self, host: usize) {
        let host = self.host(host);
        eventually(|| {
            let mut stopped = [host.processes(), host.entering()].concat();
            stopped.retain(|id| state_of(*id) == Some('T'));
            signal(&stopped, Signal::CONT);
            stopped.is_empty()
        });
    }

    /// Pulls the cable between a host and the switch: packets get lost in both directions.
    pub fn unplug(&self, host: usize) -> Result<(), String> {
        self.front.ip(&format!("link set host-{host} down\n"))
    }

    /// Connects a host again.
    pub fn plug(&self, host: usize) -> Result<(), String> {
        self.front.ip(&format!("link set host-{host} up\n"))
    }

    fn host(&self, number: usize) -> &Host {
        &self.hosts[number - 1]
    }
}

/// Returns the content of `/etc/hosts`.
fn names_of(hosts: usize) -> String {
    let mut names = format!("127.0.0.1 localhost\n{SUBNET}.{FRONT} front\n");
    for number in 1..=hosts {
        let _ = writeln!(names, "{SUBNET}.{number} host-{number}");
    }
    names
}

/// Returns a host's address with its prefix length.
fn prefix(number: u32) -> String {
    format!("{SUBNET}.{number}/24")
}

/// The namespaces of a host.
struct Host {
    /// Ends when this process does, and all processes of the host with it.
    holder: Child,
    /// The first process in the namespaces.
    first: u32,
    /// The network namespace. Its number cannot become that of another one while it is open.
    net: File,
}

impl Host {
    /// Starts `front`. Its processes are those of the machine, so that a command there keeps its process id.
    fn front(names: &Path) -> Result<Self, String> {
        let temporary = std::env::temp_dir().canonicalize().map_err(|error| error.to_string())?;
        let script = format!(
            "{FORGET}\nhostname front && mount --bind \"$1\" /etc/hosts && ip link set lo up && \
             ip link add switch type bridge && ip addr add {} dev switch && \
             ip link set switch up && {STAY}",
            prefix(FRONT)
        );
        let mut command = Command::new("unshare");
        command.args(ALL_BUT_PROCESSES.split(' ')).args(["sh", "-c", &script]);
        Self::started(spawn(command.args([&temporary, names]))?, None)
    }

    /// Starts a host with the mounts of this one.
    fn beside(&self, number: usize) -> Result<Child, String> {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.first.to_string(), "--mount", "unshare"]);
        command.args(ALL.split(' ')).args(["--fork", "--kill-child", "--mount-proc"]);
        spawn(command.args(["sh", "-c", &format!("hostname host-{number} && {STAY}")]))
    }

    /// Waits until a host has started; one with processes of its own has a number.
    fn started(mut holder: Child, number: Option<u32>) -> Result<Self, String> {
        let mut line = String::new();
        let _ = BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line);
        if line != "ready\n" {
            let _ = holder.kill();
            let _ = holder.wait();
            let mut why = String::new();
            let _ = holder.stderr.take().unwrap().read_to_string(&mut why);
            return Err(format!("no network of hosts: {}", why.trim()));
        }
        let first = match number {
            None => holder.id(),
            Some(_) => *children(holder.id()).first().ok_or("a host ended at once")?,
        };
        let net = File::open(format!("/proc/{first}/ns/net")).map_err(|error| error.to_string())?;
        Ok(Self { holder, first, net })
    }

    /// Runs commands of ip(8), one on each line.
    fn ip(&self, lines: &str) -> Result<(), String> {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.first.to_string(), "--net", "ip", "-batch", "-"]);
        let mut child = spawn(&mut command)?;
        let written = child.stdin.take().unwrap().write_all(lines.as_bytes());
        let output = child.wait_with_output().map_err(|error| error.to_string())?;
        if written.is_ok() && output.status.success() {
            return Ok(());
        }
        Err(format!("ip: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }

    /// Returns the processes in the host's network, but not those that keep it.
    fn in_network(&self) -> Vec<u32> {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let keep = [self.holder.id(), self.first];
        let net = self.net.metadata().ok().map(|net| net.ino());
        ids.filter(|id| !keep.contains(id) && namespace(*id, "net") == net).collect()
    }

    /// Returns the host's processes.
    fn processes(&self) -> Vec<u32> {
        let own = namespace(self.first, "pid");
        self.in_network().into_iter().filter(|id| namespace(*id, "pid") == own).collect()
    }

    /// Returns the processes of the machine that wait for a process of the host, and act for it.
    fn entering(&self) -> Vec<u32> {
        let own = namespace(self.first, "pid");
        self.in_network().into_iter().filter(|id| namespace(*id, "pid") != own).collect()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // Processes of the machine that entered the host may start others before they end.
        for _ in 0..100 {
            let others = self.in_network();
            signal(&others, Signal::KILL);
            if others.is_empty() {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        // The first process takes all of its namespace with it.
        signal(&[self.first], Signal::KILL);
        let _ = self.holder.wait();
    }
}

fn signal(processes: &[u32], signal: Signal) {
    for process in processes {
        let id = Pid::from_raw(process.cast_signed()).expect("0 is no process");
        // It may have ended.
        let _ = kill_process(id, signal);
    }
}

/// Stops processes, also those that they start in the meantime.
fn stop(processes: impl Fn() -> Vec<u32>) {
    eventually(|| {
        let mut running = processes();
        running.retain(|id| !matches!(state_of(*id), None | Some('T' | 'Z')));
        signal(&running, Signal::STOP);
        running.is_empty()
    });
}

fn spawn(command: &mut Command) -> Result<Child, String> {
    let command = command.current_dir("/").stdin(Stdio::piped());
    let name = command.get_program().to_string_lossy().into_owned();
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{name}: {error}"))
}

/// Returns the inode of a namespace of a process; `None` if it has ended.
fn namespace(process: u32, kind: &str) -> Option<u64> {
    Some(std::fs::metadata(format!("/proc/{process}/ns/{kind}")).ok()?.ino())
}
