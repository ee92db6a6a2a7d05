//! The methods of JSON-RPC that the service uses, and what each costs of a provider's units.
//!
//! Providers that sell units publish what each method costs, and count every call of a batch. The default costs are about the highest that
//! several of them publish, so that a budget is rather kept than exceeded; a file may state a provider's own.

use std::collections::BTreeMap;

/// A method of JSON-RPC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Call,
    Logs,
    Block,
    Code,
    Storage,
    ChainId,
}

/// Each method with its name and its default cost.
const METHODS: [(Method, &str, u32); 6] = [
    (Method::Call, "eth_call", 26),
    (Method::Logs, "eth_getLogs", 75),
    (Method::Block, "eth_getBlockByNumber", 20),
    (Method::Code, "eth_getCode", 20),
    (Method::Storage, "eth_getStorageAt", 20),
    (Method::ChainId, "eth_chainId", 5),
];

/// Highest cost of a method.
pub const MAX_COST: u32 = 100_000;

/// What each method costs at one provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Units(BTreeMap<&'static str, u32>);

impl Units {
    /// The default costs, apart from those that are `stated` by the method's name.
    ///
    /// # Errors
    /// A name that is not of a method that the service uses, or whose cost is above [`MAX_COST`].
    pub fn with(stated: &BTreeMap<String, u32>) -> Result<Self, String> {
        let mut units = BTreeMap::new();
        for (name, cost) in stated {
            match METHODS.iter().find(|(_, known, _)| known == name) {
                Some((_, name, _)) if *cost <= MAX_COST => units.insert(*name, *cost),
                _ => return Err(name.clone()),
            };
        }
        Ok(Units(units))
    }

    /// What one call of the method costs.
    pub fn of(&self, method: Method) -> u32 {
        let known = METHODS.iter().find(|(known, _, _)| *known == method);
        known.map_or(0, |(_, name, default)| self.0.get(name).copied().unwrap_or(*default))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_state_what_a_method_costs() {
        let stated = |name: &str, cost| Units::with(&BTreeMap::from([(name.to_owned(), cost)]));
        let units = stated("eth_call", 0).unwrap();
        assert_eq!((units.of(Method::Call), units.of(Method::Logs)), (0, 75));
        assert_eq!(stated("eth_cal", 1), Err("eth_cal".to_owned()));
        assert_eq!(stated("eth_call", MAX_COST + 1), Err("eth_call".to_owned()));
    }
}
