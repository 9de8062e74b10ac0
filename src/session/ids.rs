//! Interned ids: every distinct id is stored once and known by a small number.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

/// Number of an interned id. Numbers are given in order of first appearance, from 0.
pub type Symbol = u32;

/// A set of byte strings with stable numbers.
///
/// Keys are WTF-8 text for string ids; [`Interner::number_key`] makes keys for the numeric ids that
/// some damaged or foreign files have, which JavaScript keeps apart from strings of the same digits.
#[derive(Clone, Default)]
pub struct Interner {
    bytes: Vec<u8>,
    /// End offset in `bytes` of each key; a key begins where the one before it ends.
    ends: Vec<usize>,
    table: HashTable<Symbol>,
    hasher: DefaultHashBuilder,
}

impl Interner {
    /// Bytes of memory that the keys take, about.
    pub fn memory(&self) -> usize {
        self.bytes.capacity()
            + self.ends.capacity() * size_of::<usize>()
            + self.table.capacity() * (size_of::<Symbol>() + 1)
    }

    /// Key of a numeric id. No text starts with the byte 0xFF.
    pub fn number_key(number: f64) -> [u8; 9] {
        // JavaScript does not tell 0 from -0 as a map key.
        let bits = if number == 0.0 { 0.0_f64 } else { number }.to_bits();
        let mut key = [0xff; 9];
        key[1..].copy_from_slice(&bits.to_be_bytes());
        key
    }

    /// How many distinct keys there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True before the first key.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The bytes of a key; empty for a number that was never given out.
    pub fn get(&self, symbol: Symbol) -> &[u8] {
        slice_of(&self.bytes, &self.ends, symbol)
    }

    /// The numeric value of a symbol whose key was made by [`Interner::number_key`].
    pub fn number(&self, symbol: Symbol) -> Option<f64> {
        Self::number_of_key(self.get(symbol))
    }

    /// The numeric value of a key made by [`Interner::number_key`].
    pub fn number_of_key(key: &[u8]) -> Option<f64> {
        let (&0xff, bits) = key.split_first()? else {
            return None;
        };
        Some(f64::from_bits(u64::from_be_bytes(bits.try_into().ok()?)))
    }

    /// The number of a key, if it is known.
    pub fn find(&self, key: &[u8]) -> Option<Symbol> {
        let hash = self.hasher.hash_one(key);
        self.table
            .find(hash, |&symbol| self.get(symbol) == key)
            .copied()
    }

    /// The number of a key, adding it if needed.
    pub fn intern(&mut self, key: &[u8]) -> Symbol {
        let hash = self.hasher.hash_one(key);
        let Self {
            bytes,
            ends,
            table,
            hasher,
        } = self;
        if let Some(&symbol) = table.find(hash, |&symbol| slice_of(bytes, ends, symbol) == key) {
            return symbol;
        }
        let symbol = ends.len() as Symbol;
        bytes.extend_from_slice(key);
        ends.push(bytes.len());
        table.insert_unique(hash, symbol, |&other| {
            hasher.hash_one(slice_of(bytes, ends, other))
        });
        symbol
    }
}

fn slice_of<'a>(bytes: &'a [u8], ends: &[usize], symbol: Symbol) -> &'a [u8] {
    let index = symbol as usize;
    let start = match index.checked_sub(1) {
        Some(before) => ends.get(before).copied().unwrap_or(bytes.len()),
        None => 0,
    };
    let end = ends.get(index).copied().unwrap_or(start);
    bytes.get(start..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_keys_share_a_number() {
        let mut ids = Interner::default();
        let a = ids.intern(b"a");
        let empty = ids.intern(b"");
        assert_eq!(ids.intern(b"a"), a);
        assert_eq!(ids.find(b""), Some(empty));
        assert_eq!(ids.find(b"zz"), None);
        assert_eq!(ids.get(a), b"a");
        assert_eq!(ids.len(), 2);
    }

    #[test]
    fn numbers_are_not_strings() {
        let mut ids = Interner::default();
        let text = ids.intern(b"5");
        let number = ids.intern(&Interner::number_key(5.0));
        assert_ne!(text, number);
        assert_eq!(ids.number(number), Some(5.0));
        assert_eq!(ids.number(text), None);
        assert_eq!(Interner::number_key(0.0), Interner::number_key(-0.0));
    }

    #[test]
    fn many_keys_survive_growth() {
        let mut ids = Interner::default();
        let all: Vec<_> = (0..10_000)
            .map(|n| ids.intern(format!("{n:08x}").as_bytes()))
            .collect();
        for (n, symbol) in all.iter().enumerate() {
            assert_eq!(ids.get(*symbol), format!("{n:08x}").as_bytes());
            assert_eq!(ids.find(format!("{n:08x}").as_bytes()), Some(*symbol));
        }
    }
}
