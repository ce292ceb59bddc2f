//! Reads of random blocks, as the reference suite reads them: through device 63, into the view buffer.
//!
//! The process of each worker reads one block for each order, so that a latency includes the way of the order and its
//! answer through two pipes. A block that is in the cache is copied from there, and IRIS does not tell.

use super::keeper::{DataFile, Keeper};
use crate::backend::m::Installation;
use crate::backend::m::process::Family;
use crate::blocks::{BlockReader, BlockServer, below};
use crate::error::DbError;
use std::sync::Arc;

/// The blocks of a database.
#[derive(Debug)]
pub struct IrisBlocks {
    pub installation: Arc<dyn Installation>,
    pub family: Arc<Family>,
    pub directory: String,
    pub file: DataFile,
}

impl BlockServer for IrisBlocks {
    fn block_bytes(&self) -> u64 {
        self.file.block_bytes
    }

    fn connect(&self) -> Result<Box<dyn BlockReader>, DbError> {
        let mut keeper = Keeper::start(&self.installation, &self.family)?;
        keeper.ask(&["blocks", &self.directory])?;
        Ok(Box::new(IrisReader { keeper, blocks: self.file.bytes / self.file.block_bytes }))
    }
}

#[derive(Debug)]
struct IrisReader {
    keeper: Keeper,
    blocks: u64,
}

impl BlockReader for IrisReader {
    fn read(&mut self, random: u64) -> Result<bool, DbError> {
        // Blocks are numbered from 1.
        let number = below(random, self.blocks) + 1;
        self.keeper.ask(&[&number.to_string()]).map(|_| false)
    }
}
