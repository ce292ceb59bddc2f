//! The thread that talks to the other processes.
//!
//! It owns the port, so that only one thread calls MPI. It sends what is handed to it, passes on what arrives, notices
//! processes that are silent, and measures how far the clocks are apart. It sleeps between two looks: MPI itself would
//! poll without rest.

use crate::clocks::{Offset, PeerClock, RoundTrip};
use crate::port::{Port, PortError};
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time between two looks for messages. A look into MPI takes some tens of microseconds.
const LOOK: Duration = Duration::from_millis(20);
/// The same for the leader, which waits for answers, after it has sent something.
const LOOK_FOR_ANSWERS: Duration = Duration::from_millis(10);
/// The same until the first answer of a burst: shorter than [`KEEN`], so that the next ping finds a keen follower.
const LOOK_IN_BURST: Duration = Duration::from_millis(1);
/// Time after which it looks less often.
const ANSWERING: Duration = Duration::from_millis(100);
/// Time between two pings of the leader to each follower.
const PING: Duration = Duration::from_secs(1);
/// A process from which nothing arrives for this long is lost.
pub const SILENCE: Duration = Duration::from_secs(8);
/// A gap between two looks that is longer means that this process itself was paused.
const OWN_PAUSE: Duration = Duration::from_millis(500);
/// Time for a process to end by itself once the leader is silent.
const ENDING: Duration = Duration::from_secs(4);
/// Time for closing the port.
const CLOSING: Duration = Duration::from_secs(2);
/// Round trips in a burst. The shortest counts.
const BURST: u32 = 12;
/// Time during which a follower looks for the next ping of a burst without a rest.
const KEEN: Duration = Duration::from_millis(3);
/// Time between two bursts to one follower, and at least between two bursts to any: bursts poll.
const BETWEEN_BURSTS: Duration = Duration::from_secs(5);
const BETWEEN_ANY_BURSTS: Duration = Duration::from_millis(100);

const PING_TAG: u8 = 0;
const KEEN_PING_TAG: u8 = 1;
const PONG_TAG: u8 = 2;
const BODY_TAG: u8 = 3;

/// What happens on a line.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// A message arrived.
    Message { from: usize, bytes: Vec<u8> },
    /// Nothing arrived from a process for [`SILENCE`].
    Silent { rank: usize },
}

/// What the thread is asked to do.
enum Asked {
    Send { to: usize, bytes: Vec<u8> },
    Close,
}

/// A connection to the other processes.
#[derive(Debug)]
pub struct Line {
    rank: usize,
    size: usize,
    asked: Sender<Asked>,
    events: Receiver<Event>,
    clocks: Arc<Mutex<Vec<PeerClock>>>,
    pauses: Arc<Mutex<OwnPauses>>,
    thread: Option<JoinHandle<()>>,
}

/// How long this process was paused so far.
#[derive(Debug)]
struct OwnPauses {
    /// When the thread looked last.
    looked: Instant,
    paused: Duration,
}

impl OwnPauses {
    /// Returns the length of the pause since the thread looked last; zero if there was none.
    fn gap(&self) -> Duration {
        let gap = self.looked.elapsed();
        if gap > OWN_PAUSE { gap } else { Duration::ZERO }
    }
}

impl Line {
    /// Opens a port on a thread of its own. `now_ns` reads the clock whose offsets are measured. `abort` is called if the
    /// leader is silent and this process, which follows it, does not close the line.
    ///
    /// # Errors
    /// If the port cannot be opened or no thread can be started.
    pub fn open<P: Port>(
        open: impl FnOnce() -> Result<P, PortError> + Send + 'static,
        now_ns: fn() -> u64,
        abort: fn(),
    ) -> Result<Self, PortError> {
        let (asked, orders) = channel();
        let (tells, events) = channel();
        let (tell_size, sizes) = channel();
        let clocks = Arc::new(Mutex::new(Vec::new()));
        let pauses =
            Arc::new(Mutex::new(OwnPauses { looked: Instant::now(), paused: Duration::ZERO }));
        let (clocks_there, pauses_there) = (clocks.clone(), pauses.clone());
        let work = move || match open() {
            Err(error) => drop(tell_size.send(Err(error))),
            Ok(port) => {
                let (rank, size) = (port.rank(), port.size());
                *lock(&clocks_there) = vec![PeerClock::default(); size];
                // Opening the port has waited for the other processes.
                lock(&pauses_there).looked = Instant::now();
                if tell_size.send(Ok((rank, size))).is_ok() {
                    let shared = (clocks_there, pauses_there);
                    let talk = Talk::new(port, orders, tells, shared, now_ns, abort);
                    talk.run();
                }
            }
        };
        let thread = std::thread::Builder::new().name("iogauge-hosts".to_owned()).spawn(work);
        let thread =
            thread.map_err(|error| PortError(format!("cannot start a thread: {error}")))?;
        let ended = || PortError("the thread that talks to the hosts ended".to_owned());
        let (rank, size) = sizes.recv().map_err(|_| ended())??;
        Ok(Self { rank, size, asked, events, clocks, pauses, thread: Some(thread) })
    }

    /// Number of this process, from 0.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Number of processes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Sends a message. A process that is gone receives nothing.
    pub fn send(&self, to: usize, bytes: Vec<u8>) {
        let _ = self.asked.send(Asked::Send { to, bytes });
    }

    /// Waits for the next event; `None` after `timeout`, or if the line is closed.
    #[must_use]
    pub fn next(&self, timeout: Duration) -> Option<Event> {
        self.events.recv_timeout(timeout).ok()
    }

    /// Returns how long this process was paused since the line was opened. Nothing can be heard meanwhile.
    #[must_use]
    pub fn paused(&self) -> Duration {
        let pauses = lock(&self.pauses);
        pauses.paused + pauses.gap()
    }

    /// Returns how far the clock of another process is ahead of the one here; `None` before it is measured.
    #[must_use]
    pub fn offset_of(&self, rank: usize, now_ns: u64) -> Option<Offset> {
        if rank == self.rank {
            return Some(Offset { ns: 0, error_ns: 0 });
        }
        lock(&self.clocks).get(rank)?.offset_at(now_ns)
    }
}

impl Drop for Line {
    /// Sends what is waiting, and closes the port.
    fn drop(&mut self) {
        let _ = self.asked.send(Asked::Close);
        // Closing MPI waits for all processes, and one of them may be lost meanwhile.
        let end = Instant::now() + CLOSING;
        let is_open = |thread: &JoinHandle<()>| !thread.is_finished();
        while self.thread.as_ref().is_some_and(is_open) && Instant::now() < end {
            std::thread::sleep(LOOK);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A burst of round trips to one follower.
struct Burst {
    to: usize,
    left: u32,
    sent_ns: u64,
    shortest: Option<RoundTrip>,
}

/// What the thread knows of another process.
#[derive(Clone)]
struct Peer {
    heard: Instant,
    pinged: Instant,
    is_lost: bool,
}

struct Talk<P> {
    port: P,
    asked: Receiver<Asked>,
    events: Sender<Event>,
    clocks: Arc<Mutex<Vec<PeerClock>>>,
    now_ns: fn() -> u64,
    abort: fn(),
    peers: Vec<Peer>,
    burst: Option<Burst>,
    /// Followers in the order of their next burst.
    turns: VecDeque<usize>,
    last_burst: Option<Instant>,
    /// Bursts so far, so that the first ones follow each other at once.
    bursts: usize,
    /// Until when messages are looked for without a rest.
    keen_until: Option<Instant>,
    /// When the last message was handed over to be sent.
    last_asked: Option<Instant>,
    pauses: Arc<Mutex<OwnPauses>>,
}

impl<P: Port> Talk<P> {
    fn new(
        port: P,
        asked: Receiver<Asked>,
        events: Sender<Event>,
        (clocks, pauses): (Arc<Mutex<Vec<PeerClock>>>, Arc<Mutex<OwnPauses>>),
        now_ns: fn() -> u64,
        abort: fn(),
    ) -> Self {
        let now = Instant::now();
        let peers = vec![Peer { heard: now, pinged: now, is_lost: false }; port.size()];
        let turns = if port.rank() == 0 { (1..port.size()).collect() } else { VecDeque::new() };
        Self {
            port,
            asked,
            events,
            clocks,
            now_ns,
            abort,
            peers,
            burst: None,
            turns,
            last_burst: None,
            bursts: 0,
            keen_until: None,
            last_asked: None,
            pauses,
        }
    }

    fn run(mut self) {
        loop {
            match self.asked.recv_timeout(self.rest()) {
                Ok(Asked::Send { to, bytes }) => {
                    self.last_asked = Some(Instant::now());
                    self.send(to, BODY_TAG, &bytes);
                }
                Ok(Asked::Close) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            while let Some((from, bytes)) = self.port.receive() {
                self.take(from, &bytes);
            }
            self.forgive_own_pause();
            if self.port.rank() == 0 {
                self.ping_all();
                self.begin_burst();
            }
            self.notice_silence();
        }
        if self.peers.iter().any(|peer| peer.is_lost) {
            self.port.abandon();
        }
    }

    /// Returns the time until the next look.
    fn rest(&self) -> Duration {
        if self.keen_until.is_some_and(|until| Instant::now() < until) {
            return Duration::ZERO;
        }
        if self.burst.is_some() {
            return LOOK_IN_BURST;
        }
        let asked = self.last_asked.is_some_and(|asked| asked.elapsed() < ANSWERING);
        if self.port.rank() == 0 && asked { LOOK_FOR_ANSWERS } else { LOOK }
    }

    fn send(&mut self, to: usize, tag: u8, body: &[u8]) {
        if self.peers[to].is_lost {
            return;
        }
        let mut bytes = Vec::with_capacity(1 + body.len());
        bytes.push(tag);
        bytes.extend_from_slice(body);
        self.port.send(to, &bytes);
    }

    fn take(&mut self, from: usize, bytes: &[u8]) {
        let now = Instant::now();
        self.peers[from].heard = now;
        let Some((tag, body)) = bytes.split_first() else { return };
        match *tag {
            PING_TAG => self.send(from, PONG_TAG, &[]),
            KEEN_PING_TAG => {
                self.send(from, PONG_TAG, &(self.now_ns)().to_le_bytes());
                self.keen_until = Some(now + KEEN);
            }
            PONG_TAG => self.take_pong(from, body),
            _ => drop(self.events.send(Event::Message { from, bytes: body.to_vec() })),
        }
    }

    /// Uses the answer to a ping of a burst, and sends the next one.
    fn take_pong(&mut self, from: usize, body: &[u8]) {
        let received_ns = (self.now_ns)();
        let Ok(answered) = body.try_into() else { return };
        let Some(burst) = self.burst.as_mut().filter(|burst| burst.to == from) else { return };
        let answered_ns = u64::from_le_bytes(answered);
        let trip = RoundTrip { sent_ns: burst.sent_ns, answered_ns, received_ns };
        let length_ns = |trip: &RoundTrip| trip.received_ns.saturating_sub(trip.sent_ns);
        if burst.shortest.is_none_or(|shortest| length_ns(&trip) < length_ns(&shortest)) {
            burst.shortest = Some(trip);
        }
        burst.left -= 1;
        if burst.left > 0 {
            burst.sent_ns = (self.now_ns)();
            self.keen_until = Some(Instant::now() + KEEN);
            self.send(from, KEEN_PING_TAG, &[]);
        } else {
            self.end_burst();
        }
    }

    fn end_burst(&mut self) {
        self.keen_until = None;
        if let Some(Burst { to, shortest: Some(shortest), .. }) = self.burst.take() {
            lock(&self.clocks)[to].add(shortest);
        }
    }

    /// Begins the next burst if it is due. The first ones follow each other at once, because nothing can start before.
    fn begin_burst(&mut self) {
        // An answer that takes longer than a ping's interval ends the burst with what it has.
        let is_over = |burst: &Burst| (self.now_ns)().saturating_sub(burst.sent_ns) > 1_000_000_000;
        if self.burst.as_ref().is_some_and(is_over) {
            self.end_burst();
        }
        let number = self.turns.len();
        let wait = match self.bursts {
            bursts if bursts < number => Duration::ZERO,
            _ => BETWEEN_ANY_BURSTS.max(BETWEEN_BURSTS / number.max(1) as u32),
        };
        let is_due = self.last_burst.is_none_or(|last| last.elapsed() >= wait);
        if self.burst.is_some() || !is_due {
            return;
        }
        let Some(to) = self.turns.pop_front() else { return };
        self.turns.push_back(to);
        self.last_burst = Some(Instant::now());
        self.bursts += 1;
        let sent_ns = (self.now_ns)();
        self.burst = Some(Burst { to, left: BURST, sent_ns, shortest: None });
        self.send(to, KEEN_PING_TAG, &[]);
    }

    fn ping_all(&mut self) {
        let now = Instant::now();
        for to in 1..self.peers.len() {
            // A process that does not answer gets no more than its buffers hold.
            let peer = &mut self.peers[to];
            if now - peer.pinged >= PING && now - peer.heard < 2 * PING + SILENCE {
                peer.pinged = now;
                self.send(to, PING_TAG, &[]);
            }
        }
    }

    /// While this process was paused, nothing could be heard. That is not the others' silence.
    fn forgive_own_pause(&mut self) {
        let mut pauses = lock(&self.pauses);
        let (gap, now) = (pauses.gap(), Instant::now());
        pauses.paused += gap;
        pauses.looked = now;
        drop(pauses);
        self.peers.iter_mut().for_each(|peer| peer.heard = (peer.heard + gap).min(now));
    }

    fn notice_silence(&mut self) {
        let now = Instant::now();
        let own = self.port.rank();
        let watched = if own == 0 { 1..self.peers.len() } else { 0..1 };
        for rank in watched {
            let peer = &mut self.peers[rank];
            let silence = now - peer.heard;
            if silence >= SILENCE && !peer.is_lost {
                peer.is_lost = true;
                let _ = self.events.send(Event::Silent { rank });
            }
            if silence >= SILENCE + ENDING && own != 0 {
                (self.abort)();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::channels;
    use iogauge_io::clock::monotonic_ns;

    fn lines(number: usize) -> Vec<Line> {
        let ports = channels(number).into_iter();
        let threads: Vec<_> = ports
            .map(|port| {
                std::thread::spawn(move || Line::open(|| Ok(port), monotonic_ns, || ()).unwrap())
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    }

    #[test]
    fn long_gaps_between_looks_are_pauses() {
        let looked = Instant::now();
        let before = looked.checked_sub(Duration::from_secs(9)).unwrap();
        let pauses = |looked| OwnPauses { looked, paused: Duration::ZERO };
        assert!(pauses(before).gap() >= Duration::from_secs(9));
        assert_eq!(pauses(looked + Duration::from_secs(60)).gap(), Duration::ZERO);
    }

    #[test]
    fn messages_arrive_in_order() {
        let lines = lines(3);
        (0..100u8).for_each(|n| lines[1].send(0, vec![n]));
        for n in 0..100 {
            let event = lines[0].next(Duration::from_secs(20));
            assert_eq!(event, Some(Event::Message { from: 1, bytes: vec![n] }));
        }
        lines[0].send(2, b"end".to_vec());
        let event = lines[2].next(Duration::from_secs(20));
        assert_eq!(event, Some(Event::Message { from: 0, bytes: b"end".to_vec() }));
    }

    #[test]
    fn clock_of_the_same_machine_has_no_offset() {
        let lines = lines(2);
        let begin = Instant::now();
        let offset = loop {
            if let Some(offset) = lines[0].offset_of(1, monotonic_ns()) {
                break offset;
            }
            assert!(begin.elapsed() < Duration::from_secs(20), "no offset is measured");
            std::thread::sleep(Duration::from_millis(5));
        };
        assert!(offset.ns.unsigned_abs() <= offset.error_ns, "{offset:?}");
        assert_eq!(lines[0].offset_of(0, 5), Some(Offset { ns: 0, error_ns: 0 }));
    }

    #[test]
    fn silent_process_is_noticed_once() {
        let mut ports = channels(2);
        // Its messages are never looked at.
        let _mute = ports.pop();
        let port = ports.pop().unwrap();
        let line = Line::open(|| Ok(port), monotonic_ns, || ()).unwrap();
        let begin = Instant::now();
        assert_eq!(line.next(2 * SILENCE), Some(Event::Silent { rank: 1 }));
        assert!(begin.elapsed() >= SILENCE - PING, "{:?}", begin.elapsed());
        assert_eq!(line.next(PING), None);
    }

    #[test]
    fn process_without_orders_stays_known() {
        let lines = lines(2);
        assert_eq!(lines[0].next(SILENCE + 2 * PING), None);
        assert_eq!(lines[1].next(Duration::ZERO), None);
    }
}
