//! An interpreter for the opcodes of the reader program, with scripted contracts in place of a chain.
//!
//! Gas is counted as on Ethereum since the Berlin hard fork, except that every plain opcode costs 3.

use alloy_sol_types::private::U256;

/// What the program sees of the chain.
pub struct World<'a> {
    pub number: u64,
    pub parent: [u8; 32],
    pub time: u64,
    pub chain_id: u64,
    /// Answers calls.
    pub contracts: &'a mut dyn FnMut(Message) -> Reply,
}

/// A call that the program makes.
pub struct Message {
    pub to: [u8; 20],
    pub gas: u64,
    pub data: Vec<u8>,
}

/// How a contract answers.
pub struct Reply {
    pub ok: bool,
    pub data: Vec<u8>,
    pub gas_used: u64,
}

struct Machine<'a, 'b> {
    code: &'a [u8],
    calldata: &'a [u8],
    stack: Vec<U256>,
    memory: Vec<u8>,
    return_data: Vec<u8>,
    gas: u64,
    world: &'a mut World<'b>,
}

/// Runs `code`; the returned data, or what went wrong.
pub fn run(code: &[u8], calldata: &[u8], gas: u64, world: &mut World<'_>) -> Result<Vec<u8>, &'static str> {
    let (stack, memory, return_data) = (vec![], vec![], vec![]);
    Machine { code, calldata, stack, memory, return_data, gas, world }.run()
}

impl Machine<'_, '_> {
    fn run(&mut self) -> Result<Vec<u8>, &'static str> {
        let mut at = 0;
        loop {
            let code = *self.code.get(at).ok_or("ran off the code")?;
            at += 1;
            self.pay(3)?;
            match code {
                0x01 => self.binary(|a, b| a.wrapping_add(b))?,
                0x02 => self.binary(|a, b| a.wrapping_mul(b))?,
                0x03 => self.binary(|a, b| a.wrapping_sub(b))?,
                0x10 => self.binary(|a, b| U256::from(a < b))?,
                0x15 => {
                    let a = self.pop()?;
                    self.push(U256::from(a.is_zero()));
                }
                0x1a => self.binary(|index, word| U256::from(word.to_be_bytes::<32>()[index.to::<usize>()]))?,
                0x1b => self.binary(|shift, word| word << shift.to::<usize>())?,
                0x1c => self.binary(|shift, word| word >> shift.to::<usize>())?,
                0x36 => self.push(U256::from(self.calldata.len())),
                0x37 => self.copy(self.calldata.to_vec())?,
                0x38 => self.push(U256::from(self.code.len())),
                0x39 => self.copy(self.code.to_vec())?,
                0x3d => self.push(U256::from(self.return_data.len())),
                0x40 => {
                    let number = self.pop()?;
                    let is_parent = number.wrapping_add(U256::from(1)) == U256::from(self.world.number);
                    self.push(if is_parent { U256::from_be_bytes(self.world.parent) } else { U256::ZERO });
                }
                0x42 => self.push(U256::from(self.world.time)),
                0x43 => self.push(U256::from(self.world.number)),
                0x46 => self.push(U256::from(self.world.chain_id)),
                0x50 => drop(self.pop()?),
                0x51 => {
                    let from = self.pop_usize()?;
                    self.expand(from, 32)?;
                    self.push(U256::from_be_slice(&self.memory[from..from + 32]));
                }
                0x52 => {
                    let (to, word) = (self.pop_usize()?, self.pop()?);
                    self.expand(to, 32)?;
                    self.memory[to..to + 32].copy_from_slice(&word.to_be_bytes::<32>());
                }
                0x53 => {
                    let (to, word) = (self.pop_usize()?, self.pop()?);
                    self.expand(to, 1)?;
                    self.memory[to] = word.to_be_bytes::<32>()[31];
                }
                0x56 => at = self.jump()?,
                0x57 => {
                    let (to, condition) = (self.jump()?, self.pop()?);
                    at = if condition.is_zero() { at } else { to };
                }
                0x5a => self.push(U256::from(self.gas)),
                0x5b => {}
                0x60..=0x7f => {
                    let length = usize::from(code - 0x5f);
                    self.push(U256::from_be_slice(self.code.get(at..at + length).ok_or("a cut PUSH")?));
                    at += length;
                }
                0x80..=0x8f => {
                    let depth = usize::from(code - 0x7f);
                    let from = self.stack.len().checked_sub(depth).ok_or("stack underflow")?;
                    self.push(self.stack[from]);
                }
                0x90..=0x9f => {
                    let depth = usize::from(code - 0x8e);
                    let from = self.stack.len().checked_sub(depth).ok_or("stack underflow")?;
                    let top = self.stack.len() - 1;
                    self.stack.swap(from, top);
                }
                0xf3 => {
                    let (from, length) = (self.pop_usize()?, self.pop_usize()?);
                    self.expand(from, length)?;
                    return Ok(self.memory[from..from + length].to_vec());
                }
                0xfa => self.call()?,
                _ => return Err("an opcode that the reader does not use"),
            }
        }
    }

    fn call(&mut self) -> Result<(), &'static str> {
        let (requested, to) = (self.pop()?, self.pop()?);
        let (from, size, into, room) = (self.pop_usize()?, self.pop_usize()?, self.pop_usize()?, self.pop_usize()?);
        self.expand(from, size)?;
        self.expand(into, room)?;
        self.pay(2_600)?;
        let available = self.gas - self.gas / 64;
        let gas = if requested > U256::from(available) { available } else { requested.to::<u64>() };
        let to = to.to_be_bytes::<32>()[12..].try_into().unwrap();
        let reply = (self.world.contracts)(Message { to, gas, data: self.memory[from..from + size].to_vec() });
        self.gas -= reply.gas_used.min(gas);
        let copied = reply.data.len().min(room);
        self.memory[into..into + copied].copy_from_slice(&reply.data[..copied]);
        self.return_data = reply.data;
        self.push(U256::from(reply.ok));
        Ok(())
    }

    fn copy(&mut self, source: Vec<u8>) -> Result<(), &'static str> {
        let (to, from, length) = (self.pop_usize()?, self.pop_usize()?, self.pop_usize()?);
        self.expand(to, length)?;
        self.pay(3 * length.div_ceil(32) as u64)?;
        for offset in 0..length {
            self.memory[to + offset] = source.get(from + offset).copied().unwrap_or(0);
        }
        Ok(())
    }

    /// Target of a jump, which must be a `JUMPDEST`.
    fn jump(&mut self) -> Result<usize, &'static str> {
        let to = self.pop_usize()?;
        if self.code.get(to) == Some(&0x5b) { Ok(to) } else { Err("a jump to no JUMPDEST") }
    }

    fn expand(&mut self, at: usize, length: usize) -> Result<(), &'static str> {
        let cost = |words: usize| 3 * words as u64 + (words * words / 512) as u64;
        let words = if length == 0 { 0 } else { (at + length).div_ceil(32) };
        let before = self.memory.len() / 32;
        if words > before {
            self.pay(cost(words) - cost(before))?;
            self.memory.resize(words * 32, 0);
        }
        Ok(())
    }

    fn pay(&mut self, gas: u64) -> Result<(), &'static str> {
        self.gas = self.gas.checked_sub(gas).ok_or("out of gas")?;
        Ok(())
    }

    fn binary(&mut self, apply: impl Fn(U256, U256) -> U256) -> Result<(), &'static str> {
        let (a, b) = (self.pop()?, self.pop()?);
        self.push(apply(a, b));
        Ok(())
    }

    fn push(&mut self, word: U256) {
        self.stack.push(word);
    }

    fn pop(&mut self) -> Result<U256, &'static str> {
        self.stack.pop().ok_or("stack underflow")
    }

    fn pop_usize(&mut self) -> Result<usize, &'static str> {
        usize::try_from(self.pop()?).ok().filter(|number| *number < 1 << 24).ok_or("an address beyond the memory")
    }
}
