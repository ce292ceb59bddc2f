//! Ports between threads of one process.

use crate::port::Port;
use std::sync::mpsc::{Receiver, Sender, channel};

/// A port over channels.
#[derive(Debug)]
pub struct Channel {
    rank: usize,
    others: Vec<Sender<(usize, Vec<u8>)>>,
    inbox: Receiver<(usize, Vec<u8>)>,
}

/// Returns connected ports, in order of their ranks.
#[must_use]
pub fn channels(size: usize) -> Vec<Channel> {
    let (senders, inboxes): (Vec<_>, Vec<_>) = (0..size).map(|_| channel()).unzip();
    let ports = inboxes.into_iter().enumerate();
    ports.map(|(rank, inbox)| Channel { rank, others: senders.clone(), inbox }).collect()
}

impl Port for Channel {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.others.len()
    }

    fn send(&mut self, to: usize, bytes: &[u8]) {
        // A process that has ended receives nothing.
        let _ = self.others[to].send((self.rank, bytes.to_vec()));
    }

    fn receive(&mut self) -> Option<(usize, Vec<u8>)> {
        self.inbox.try_recv().ok()
    }
}
