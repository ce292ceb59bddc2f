//! `--hosts` and `--hostsfile`: the hosts that measure together.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Largest number of hosts that a list may name.
const MOST_HOSTS: usize = 100_000;

/// Hosts that measure together.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Hosts")]
pub struct HostsArgs {
    /// Measure from these hosts at once, started by mpirun: a,b,c or node[1-8,11]
    #[arg(long, value_name = "LIST", conflicts_with = "detach")]
    pub hosts: Vec<String>,
    /// The same, with the hosts in a file, one on each line
    #[arg(long, value_name = "FILE", conflicts_with = "detach")]
    pub hostsfile: Option<PathBuf>,
    /// How several hosts share the load: equally, or in proportion to the IOPS that each reaches alone (solo), which is
    /// measured first
    #[arg(
        long,
        value_enum,
        value_name = "equal|solo",
        default_value = "equal",
        hide_possible_values = true
    )]
    pub share: Share,
}

/// How several hosts share the load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Share {
    /// Equal parts
    #[default]
    Equal,
    /// Parts in proportion to what each host reaches alone
    Solo,
}

impl HostsArgs {
    /// Returns the names of the hosts in the order given; none if no host was named.
    ///
    /// # Errors
    /// The file cannot be read, or a list is malformed or names a host twice.
    pub fn names(&self) -> anyhow::Result<Vec<String>> {
        let mut names = Vec::new();
        for list in &self.hosts {
            names.extend(expanded(list)?);
        }
        if let Some(path) = &self.hostsfile {
            let cannot_read = |error| wrong(format!("cannot read {}: {error}", path.display()));
            let text = std::fs::read_to_string(path).map_err(cannot_read)?;
            for line in text.lines() {
                // The rest of a line, such as slots=4, is for others.
                let line = line.split('#').next().unwrap_or_default();
                if let Some(name) = line.split_whitespace().next() {
                    names.extend(expanded(name)?);
                }
            }
            if names.is_empty() {
                return Err(wrong(format!("{} names no host", path.display())));
            }
        }
        let mut sorted = names.clone();
        sorted.sort();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(wrong(format!("host {} is named twice", pair[0]))),
            None => Ok(names),
        }
    }
}

fn wrong(message: String) -> anyhow::Error {
    crate::exit::Usage(message).into()
}

/// Returns the hosts of a list such as `a,node[1-3,7]`.
fn expanded(list: &str) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for item in split_outside_brackets(list) {
        let malformed =
            || wrong(format!("\"{item}\" is not a host or a range; hint: use a,b or node[1-8,11]"));
        let is_name =
            |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:".contains(c));
        match item.split_once('[') {
            None if !item.is_empty() && is_name(item) && !item.starts_with('-') => {
                names.push(item.to_owned());
            }
            Some((before, rest)) => {
                let (ranges, after) = rest.split_once(']').ok_or_else(malformed)?;
                if !is_name(before) || !is_name(after) || before.starts_with('-') {
                    return Err(malformed());
                }
                for range in ranges.split(',') {
                    let numbers = numbers(range).ok_or_else(malformed)?;
                    names.extend(numbers.map(|number| format!("{before}{number}{after}")));
                    if names.len() > MOST_HOSTS {
                        return Err(wrong(format!("a list has over {MOST_HOSTS} hosts")));
                    }
                }
            }
            _ => return Err(malformed()),
        }
    }
    Ok(names)
}

fn split_outside_brackets(list: &str) -> Vec<&str> {
    let mut depth = 0;
    let at_top = |c: char| {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    };
    list.split(at_top).map(str::trim).collect()
}

/// Returns the numbers of a range such as `1-8`, with the leading zeros of its first one.
fn numbers(range: &str) -> Option<impl Iterator<Item = String>> {
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let width = first.len();
    let is_digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let (first, last): (u32, u32) = match (is_digits(first), is_digits(last)) {
        (true, true) => (first.parse().ok()?, last.parse().ok()?),
        _ => return None,
    };
    let is_short = last.checked_sub(first)? < MOST_HOSTS as u32;
    is_short.then(|| (first..=last).map(move |number| format!("{number:0width$}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(list: &str) -> Vec<String> {
        expanded(list).unwrap()
    }

    #[test]
    fn lists_and_ranges_expand_as_in_slurm() {
        assert_eq!(all("a,b.example.com"), ["a", "b.example.com"]);
        assert_eq!(all("node[1-3,7]"), ["node1", "node2", "node3", "node7"]);
        assert_eq!(all("n[08-10]-ib, x"), ["n08-ib", "n09-ib", "n10-ib", "x"]);
    }

    #[test]
    fn malformed_lists_are_refused() {
        for list in
            ["", "a,", "a b", "n[1-", "n[3-1]", "n[a-b]", "n[]", "-x", "n[1-999999999]", "a;b"]
        {
            assert!(expanded(list).is_err(), "{list}");
        }
    }

    #[test]
    fn file_has_one_host_on_each_line() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "# nodes\na slots=4\n\nb[1-2] # rack 2\n").unwrap();
        let mut typed = HostsArgs {
            hosts: vec![],
            hostsfile: Some(file.path().to_owned()),
            share: Share::Equal,
        };
        assert_eq!(typed.names().unwrap(), ["a", "b1", "b2"]);
        typed.hosts.push("a".to_owned());
        assert!(typed.names().unwrap_err().to_string().contains("named twice"));
    }
}
