//! A small assembler for EVM programs whose labels lie within the first 255 bytes. It runs when this crate is compiled.

/// One instruction.
#[derive(Clone, Copy)]
pub(crate) enum Asm {
    /// An opcode without operand.
    Op(u8),
    /// `PUSH1` with a number.
    Push(u8),
    /// `PUSH4` with four bytes.
    Push4([u8; 4]),
    /// `PUSH1` with the position of a label.
    PushLabel(u8),
    /// `PUSH2` with the length of the program.
    PushLength,
    /// A `JUMPDEST` that `PushLabel` with the same number refers to.
    Label(u8),
}

const PUSH1: u8 = 0x60;
const PUSH2: u8 = 0x61;
const PUSH4: u8 = 0x63;
const JUMPDEST: u8 = 0x5b;

impl Asm {
    const fn length(self) -> u8 {
        match self {
            Asm::Op(_) | Asm::Label(_) => 1,
            Asm::Push(_) | Asm::PushLabel(_) => 2,
            Asm::PushLength => 3,
            Asm::Push4(_) => 5,
        }
    }
}

/// Length of the assembled program in bytes.
pub(crate) const fn length(mut listing: &[Asm]) -> usize {
    let mut length = 0_usize;
    while let [first, rest @ ..] = listing {
        length = length.saturating_add(first.length() as usize);
        listing = rest;
    }
    length
}

/// Position of a label; 0 if the listing lacks it, 255 if it lies further behind.
pub(crate) const fn position(mut listing: &[Asm], label: u8) -> u8 {
    let mut at = 0_u8;
    while let [first, rest @ ..] = listing {
        if let Asm::Label(name) = first
            && *name == label
        {
            return at;
        }
        at = at.saturating_add(first.length());
        listing = rest;
    }
    0
}

/// The bytes of `listing`. `N` must be its [`length`]. Bytes that the listing does not fill stay 0 (`STOP`).
pub(crate) const fn assemble<const N: usize>(listing: &[Asm]) -> [u8; N] {
    let mut program = [0_u8; N];
    let mut free: &mut [u8] = &mut program;
    let mut next = listing;
    while let [first, rest @ ..] = next {
        next = rest;
        free = match (*first, free) {
            (Asm::Op(code), [a, tail @ ..]) => {
                *a = code;
                tail
            }
            (Asm::Label(_), [a, tail @ ..]) => {
                *a = JUMPDEST;
                tail
            }
            (Asm::Push(number), [a, b, tail @ ..]) => {
                (*a, *b) = (PUSH1, number);
                tail
            }
            (Asm::PushLabel(label), [a, b, tail @ ..]) => {
                (*a, *b) = (PUSH1, position(listing, label));
                tail
            }
            (Asm::PushLength, [a, b, c, tail @ ..]) => {
                *a = PUSH2;
                [*b, *c] = (N as u16).to_be_bytes();
                tail
            }
            (Asm::Push4(bytes), [a, b, c, d, e, tail @ ..]) => {
                *a = PUSH4;
                [*b, *c, *d, *e] = bytes;
                tail
            }
            (_, full) => full,
        };
    }
    program
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_before_and_after_their_use_are_resolved() {
        const LISTING: &[Asm] = &[
            Asm::Label(1),
            Asm::PushLabel(2),
            Asm::PushLabel(1),
            Asm::PushLength,
            Asm::Push4([1, 2, 3, 4]),
            Asm::Label(2),
        ];
        assert_eq!(length(LISTING), 14);
        assert_eq!(assemble::<14>(LISTING), [0x5b, 0x60, 13, 0x60, 0, 0x61, 0, 14, 0x63, 1, 2, 3, 4, 0x5b]);
    }
}
