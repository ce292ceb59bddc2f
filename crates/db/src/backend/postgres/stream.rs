//! The way to a server: a socket of either kind.

use super::address::{Address, Host};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{ErrorKind, Read, Result, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A socket of either kind.
#[derive(Debug)]
pub(super) enum Stream {
    Unix(Polled),
    Tcp(TcpStream),
}

impl Stream {
    /// Connects; over the network for so long at most.
    pub(super) fn open(address: &Address, patience: Duration) -> Result<Self> {
        let name = match &address.host {
            Host::Socket(path) => {
                let path = path.join(format!(".s.PGSQL.{}", address.port));
                return Ok(Self::Unix(Polled::new(UnixStream::connect(path)?)));
            }
            Host::Name(name) => name,
        };
        let mut result = Err(ErrorKind::AddrNotAvailable.into());
        for address in (name.as_str(), address.port).to_socket_addrs()? {
            result = TcpStream::connect_timeout(&address, patience);
            if result.is_ok() {
                break;
            }
        }
        let stream = result?;
        stream.set_nodelay(true)?;
        Ok(Self::Tcp(stream))
    }

    /// How long a read waits until it fails with [`ErrorKind::WouldBlock`]; `None` for as long as it takes.
    pub(super) fn set_read_timeout(&mut self, timeout: Option<Duration>) -> Result<()> {
        match self {
            Self::Unix(stream) => stream.set_read_timeout(timeout),
            Self::Tcp(stream) => stream.set_read_timeout(timeout),
        }
    }

    /// Whether a read waits for nothing, or again for as long as it takes.
    pub(super) fn set_nonblocking(&mut self, nonblocking: bool) -> Result<()> {
        match self {
            Self::Unix(stream) => stream.set_read_timeout(nonblocking.then_some(Duration::ZERO)),
            Self::Tcp(stream) => stream.set_nonblocking(nonblocking),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(buffer),
            Self::Tcp(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        match self {
            Self::Unix(stream) => stream.socket.write(bytes),
            Self::Tcp(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A Unix socket that is read once something is there. Linux wakes a thread that sleeps in the read itself
/// also when the other side takes what was sent to it (`sock_def_write_space`): twice for each answer, the
/// first time for nothing, while the server needs the processor. A thread that polls for input sleeps on.
#[derive(Debug)]
pub(super) struct Polled {
    socket: UnixStream,
    timeout: Option<Timespec>,
}

impl Polled {
    fn new(socket: UnixStream) -> Self {
        Self { socket, timeout: None }
    }

    fn set_read_timeout(&mut self, timeout: Option<Duration>) -> Result<()> {
        let as_timespec =
            |timeout| Timespec::try_from(timeout).map_err(|_| ErrorKind::InvalidInput);
        self.timeout = timeout.map(as_timespec).transpose()?;
        Ok(())
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let mut polled = [PollFd::new(&self.socket, PollFlags::IN)];
        if poll(&mut polled, self.timeout.as_ref())? == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        self.socket.read(buffer)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    /// Times that this thread went to sleep by itself.
    fn sleeps() -> u64 {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.unwrap().trim().parse().unwrap()
    }

    #[test]
    fn an_answer_is_slept_for_once() {
        const ANSWERS: u64 = 50;
        let (socket, mut server) = UnixStream::pair().unwrap();
        let mut stream = Stream::Unix(Polled::new(socket));
        let serve = std::thread::spawn(move || {
            let mut byte = [0];
            while server.read(&mut byte).unwrap() == 1 {
                std::thread::sleep(Duration::from_millis(2));
                server.write_all(&byte).unwrap();
            }
        });
        let before = sleeps();
        for answer in 0..ANSWERS {
            let mut byte = [answer as u8];
            stream.write_all(&byte).unwrap();
            assert_eq!(stream.read(&mut byte).unwrap(), 1);
        }
        let slept = sleeps() - before;
        drop(stream);
        serve.join().unwrap();
        assert!(slept < ANSWERS * 3 / 2, "{slept} times for {ANSWERS} answers");
    }

    #[test]
    fn a_read_waits_as_long_as_it_is_told() {
        let (socket, mut server) = UnixStream::pair().unwrap();
        let mut stream = Stream::Unix(Polled::new(socket));
        let blocked = |read: Result<usize>| read.unwrap_err().kind() == ErrorKind::WouldBlock;
        stream.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
        let begin = std::time::Instant::now();
        assert!(blocked(stream.read(&mut [0])));
        assert!(begin.elapsed() >= Duration::from_millis(5));
        stream.set_nonblocking(true).unwrap();
        assert!(blocked(stream.read(&mut [0])));
        server.write_all(&[7]).unwrap();
        assert_eq!(stream.read(&mut [0]).unwrap(), 1);
        stream.set_nonblocking(false).unwrap();
        drop(server);
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    }
}
