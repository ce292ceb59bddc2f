//! Sockets to a server.

use super::address::{Address, Host};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{ErrorKind, Read, Result, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// A socket of either kind.
#[derive(Debug)]
pub(super) enum Stream {
    Unix(Polled),
    Tcp(Arc<TcpStream>),
}

/// The connections of a run, which can be closed together. Threads waiting for an answer then fail.
#[derive(Debug, Default)]
pub(super) struct Lines(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    is_over: bool,
    streams: Vec<Socket>,
}

#[derive(Debug)]
enum Socket {
    Unix(Weak<UnixStream>),
    Tcp(Weak<TcpStream>),
}

impl Socket {
    fn hang_up(&self) {
        // An error is ignored: the socket is already closed.
        let _ = match self {
            Self::Unix(stream) => stream.upgrade().map(|stream| stream.shutdown(Shutdown::Both)),
            Self::Tcp(stream) => stream.upgrade().map(|stream| stream.shutdown(Shutdown::Both)),
        };
    }
}

impl Lines {
    /// Adds a connection. It is closed at once if the others are already closed.
    pub(super) fn add(&self, stream: &Stream) {
        let line = match stream {
            Stream::Unix(polled) => Socket::Unix(Arc::downgrade(&polled.socket)),
            Stream::Tcp(stream) => Socket::Tcp(Arc::downgrade(stream)),
        };
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if open.is_over {
            line.hang_up();
        }
        open.streams.push(line);
    }

    /// Closes every connection, including those waiting for an answer.
    pub(super) fn hang_up(&self) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.is_over = true;
        open.streams.drain(..).for_each(|line| line.hang_up());
    }
}

/// Runs an action that may wait for the network or a busy server, for at most this time. If it takes longer, it
/// continues in its own thread and its result is discarded.
fn within<T: Send + 'static>(
    patience: Duration,
    act: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let (done, waiting) = sync_channel(1);
    std::thread::Builder::new().name("db-connect".to_owned()).spawn(move || {
        // The caller may have given up.
        let _ = done.send(act());
    })?;
    waiting.recv_timeout(patience).unwrap_or_else(|_| Err(ErrorKind::TimedOut.into()))
}

impl Stream {
    /// Connects, within this time.
    pub(super) fn open(address: &Address, patience: Duration) -> Result<Self> {
        let end = Instant::now() + patience;
        let name = match &address.host {
            Host::Socket(path) => {
                let path = path.join(format!(".s.PGSQL.{}", address.port));
                let socket = within(patience, || UnixStream::connect(path))?;
                return Ok(Self::Unix(Polled::new(socket)));
            }
            Host::Name(name) => (name.clone(), address.port),
        };
        let found = within(patience, move || Ok(name.to_socket_addrs()?.collect::<Vec<_>>()))?;
        let mut result = Err(ErrorKind::AddrNotAvailable.into());
        for address in found {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            result = TcpStream::connect_timeout(&address, left);
            if result.is_ok() {
                break;
            }
        }
        let stream = result?;
        stream.set_nodelay(true)?;
        Ok(Self::Tcp(Arc::new(stream)))
    }

    /// Sets the time after which a read or write fails with [`ErrorKind::WouldBlock`] or [`ErrorKind::TimedOut`];
    /// `None` for no limit.
    pub(super) fn set_timeout(&mut self, timeout: Option<Duration>) -> Result<()> {
        match self {
            Self::Unix(stream) => {
                stream.socket.set_write_timeout(timeout)?;
                stream.set_read_timeout(timeout)
            }
            Self::Tcp(stream) => {
                stream.set_write_timeout(timeout)?;
                stream.set_read_timeout(timeout)
            }
        }
    }

    /// Reads data that has already arrived.
    pub(super) fn read_at_hand(&mut self, buffer: &mut [u8]) -> Result<usize> {
        match self {
            Self::Unix(stream) => {
                let timeout = stream.timeout.replace(Timespec::default());
                let read = stream.read(buffer);
                stream.timeout = timeout;
                read
            }
            Self::Tcp(stream) => {
                stream.set_nonblocking(true)?;
                let read = (&mut &**stream).read(buffer);
                stream.set_nonblocking(false)?;
                read
            }
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(buffer),
            Self::Tcp(stream) => (&mut &**stream).read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        match self {
            Self::Unix(stream) => (&mut &*stream.socket).write(bytes),
            Self::Tcp(stream) => (&mut &**stream).write(bytes),
        }
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A Unix socket that is polled before it is read. Linux also wakes a thread sleeping in a read when the peer receives
/// the data sent to it (`sock_def_write_space`). That is two wake-ups per answer, the first one without data, while the
/// server needs the processor. A thread that polls for input is not woken.
#[derive(Debug)]
pub(super) struct Polled {
    socket: Arc<UnixStream>,
    timeout: Option<Timespec>,
}

impl Polled {
    fn new(socket: UnixStream) -> Self {
        Self { socket: Arc::new(socket), timeout: None }
    }

    fn set_read_timeout(&mut self, timeout: Option<Duration>) -> Result<()> {
        let as_timespec =
            |timeout| Timespec::try_from(timeout).map_err(|_| ErrorKind::InvalidInput);
        self.timeout = timeout.map(as_timespec).transpose()?;
        Ok(())
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let mut polled = [PollFd::new(&*self.socket, PollFlags::IN)];
        if poll(&mut polled, self.timeout.as_ref())? == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        (&mut &*self.socket).read(buffer)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    /// Returns the voluntary context switches of this thread.
    fn sleeps() -> u64 {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.unwrap().trim().parse().unwrap()
    }

    #[test]
    fn waiting_for_a_reply_sleeps_only_once() {
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
    fn read_honors_its_timeout() {
        let (socket, mut server) = UnixStream::pair().unwrap();
        let mut stream = Stream::Unix(Polled::new(socket));
        let blocked = |read: Result<usize>| read.unwrap_err().kind() == ErrorKind::WouldBlock;
        stream.set_timeout(Some(Duration::from_millis(5))).unwrap();
        let begin = std::time::Instant::now();
        assert!(blocked(stream.read(&mut [0])));
        assert!(begin.elapsed() >= Duration::from_millis(5));
        assert!(blocked(stream.read_at_hand(&mut [0])));
        server.write_all(&[7]).unwrap();
        assert_eq!(stream.read_at_hand(&mut [0]).unwrap(), 1);
        drop(server);
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn shutdown_wakes_blocked_readers() {
        let (socket, _server) = UnixStream::pair().unwrap();
        let mut stream = Stream::Unix(Polled::new(socket));
        let lines = Lines::default();
        lines.add(&stream);
        std::thread::scope(|scope| {
            let reader = scope.spawn(move || stream.read(&mut [0]));
            std::thread::sleep(Duration::from_millis(20));
            assert!(!reader.is_finished());
            lines.hang_up();
            assert_eq!(reader.join().unwrap().unwrap(), 0);
        });
        let (late, _server) = UnixStream::pair().unwrap();
        let mut late = Stream::Unix(Polled::new(late));
        lines.add(&late);
        assert_eq!(late.read(&mut [0]).unwrap(), 0);
    }
}
