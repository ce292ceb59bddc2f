//! Runs the database fuzz targets on generated input: words that each parser knows, numbers, and arbitrary bytes.
//!
//! By default each target gets a few hundred cases. With `IOGAUGE_FUZZ_SECONDS=60` each runs for 60 seconds;
//! `scripts/fuzz.sh` uses this if libFuzzer is not available.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use iogauge_test_support::fuzz::{self as targets, fuzz};
use proptest::prelude::*;
use proptest::sample::select;

/// Generates up to 23 concatenated pieces: words that the parser knows, numbers and arbitrary bytes.
fn bytes(known: &[&'static [u8]]) -> impl Strategy<Value = Vec<u8>> + use<> {
    let known: Vec<Vec<u8>> = known.iter().map(|piece| piece.to_vec()).collect();
    let number = prop_oneof![any::<u64>(), 0u64..100, (0u32..64).prop_map(|power| 1 << power)];
    let piece = prop_oneof![
        6 => select(known),
        1 => number.prop_map(|number| number.to_string().into_bytes()),
        1 => any::<u32>().prop_map(|number| number.to_be_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..5),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

#[test]
fn postgres_messages() {
    let known: [&[u8]; 16] = [
        b"D",
        b"E",
        b"R",
        b"Z",
        b"N",
        b"K",
        b"\0\0\0\x04",
        b"\0\0\0\x08",
        b"\0\0\0\x0c",
        b"\0\x01",
        b"\0\x02",
        b"\xff\xff\xff\xff",
        b"SFATAL\0VFATAL\0C28P01\0Msecret\0\0",
        b"r=abc,s=c2FsdA==,i=1",
        b"v=",
        b"\0",
    ];
    // Most of the inputs are messages with the right length.
    let message = (select(b"DERZNSKCG".to_vec()), bytes(&known)).prop_map(|(tag, body)| {
        let length = (body.len() as u32 + 4).to_be_bytes();
        [&[tag][..], &length, &body].concat()
    });
    let stream =
        prop::collection::vec(prop_oneof![4 => message.boxed(), 1 => bytes(&known).boxed()], 0..6);
    let stream = stream.prop_map(|parts: Vec<Vec<u8>>| parts.concat());
    fuzz(&stream, |input| targets::postgres_messages(&input));
}

#[test]
fn gtm_lines() {
    let known: [&[u8]; 16] = [
        b"t",
        b".",
        b"!",
        b"0000000000001000",
        b"9999999999999999",
        b"1700000000000000",
        b"513 8192 1000 100",
        b" ",
        b"JRL:",
        b"TTW:",
        b"TR0:",
        b"TR1:",
        b",",
        b"%GTM-E-DBFILERR, ",
        b"18446744073709551615",
        b"\n",
    ];
    fuzz(&bytes(&known), |input| targets::gtm_lines(&input));
}

#[test]
fn database_notes() {
    let known: [&[u8]; 16] = [
        b"{\"format\":\"iogauge.database/1\",\"backend\":\"sqlite\",\"identity\":\"a-1\",\"block_bytes\":",
        b"8192,\"complete\":true,\"made_parent\":false,\"globals\":[",
        b"{\"number\":1,\"subscripts\":10,\"value_bytes\":100}",
        b"{\"number\":",
        b",\"subscripts\":",
        b",\"value_bytes\":",
        b"]}",
        b"}",
        b",",
        b"-1",
        b"1e99",
        b"null",
        b"{\"format\":\"iogauge.acknowledged/2\",\"database\":\"x\",\"seed\":7,\"transaction_length\":5,\"workers\":1}",
        b"{\"format\":\"iogauge.acknowledged/2\",\"database\":\"x\",\"seed\":7,\"transaction_length\":0,\"workers\":2}",
        b"\n",
        b"\xff",
    ];
    fuzz(&(bytes(&known), bytes(&[b"\0\0\0\0\0\0\0\x01", b"\xff\xff"])), |(mut input, slots)| {
        targets::database_notes(&input);
        // The header of a file of acknowledged transactions has 4 KiB.
        input.push(b'\n');
        input.resize(4096, b' ');
        input.extend(slots);
        targets::database_notes(&input);
    });
}

#[test]
fn database_url() {
    let known: [&[u8]; 16] = [
        b"postgres:",
        b"sqlite:",
        b"//",
        b"/",
        b"@",
        b":",
        b"?",
        b"=",
        b"&",
        b"%3A",
        b"%",
        b"password",
        b"host",
        b"port",
        b"[::1]",
        b"me",
    ];
    fuzz(&bytes(&known), |input| targets::database_url(&String::from_utf8_lossy(&input)));
}
