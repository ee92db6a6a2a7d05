//! The peer of the chain reader: the same fields with `alloy`, by `aggregate3` of Multicall3, at the hash of one block.
//!
//! Arguments: the node's URL, and a file with one vault's address a line. Each line of the input names the calls of a request, and is
//! answered with one line: microseconds of the reading, and a sum over all values, which is computed after it.

use std::io::{BufRead, Write};
use std::time::Instant;

use alloy::eips::BlockId;
use alloy::primitives::{Address, U256, address};
use alloy::providers::{Provider, ProviderBuilder};
use alloy::sol;
use alloy::sol_types::SolCall;
use futures_util::stream::{StreamExt, TryStreamExt};

const MULTICALL3: Address = address!("0xcA11bde05977b3631167028862bE2a173976CA11");
/// The account for which limits are asked.
const HOLDER: Address = address!("0x000000000000000000000000000000000000fead");
/// Requests at the same time, as the service has.
const IN_FLIGHT: usize = 4;

sol! {
    interface Vault {
        function asset() external view returns (address);
        function decimals() external view returns (uint8);
        function totalAssets() external view returns (uint256);
        function totalSupply() external view returns (uint256);
        function maxDeposit(address receiver) external view returns (uint256);
        function maxRedeem(address holder) external view returns (uint256);
    }

    #[sol(rpc)]
    interface Multicall3 {
        struct Call3 { address target; bool allowFailure; bytes callData; }
        struct Result { bool success; bytes returnData; }
        function aggregate3(Call3[] calldata calls) external payable returns (Result[] memory returnData);
    }
}

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(file)) = (arguments.next(), arguments.next()) else { return Err("URL FILE".into()) };
    let vaults: Vec<Address> =
        std::fs::read_to_string(file)?.lines().map(str::parse).collect::<Result<_, _>>().map_err(|_| "an address")?;
    let provider = ProviderBuilder::new().connect_http(url.parse()?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    for line in std::io::stdin().lock().lines() {
        let calls: usize = line?.trim().parse()?;
        let begun = Instant::now();
        let values = runtime.block_on(read(&provider, &vaults, calls))?;
        let micros = begun.elapsed().as_micros();
        let sum = values.iter().fold(U256::ZERO, |sum, value| sum.wrapping_add(*value));
        let mut out = std::io::stdout().lock();
        writeln!(out, "{micros} {sum:064x}")?;
        out.flush()?;
    }
    Ok(())
}

/// Every field of every vault at the newest block.
async fn read(provider: &impl Provider, vaults: &[Address], calls: usize) -> Result<Vec<U256>, Failure> {
    let block = provider.get_block_by_number(Default::default()).await?.ok_or("no block")?;
    let at = BlockId::hash(block.header.hash);
    let contract = Multicall3::new(MULTICALL3, provider);
    let all: Vec<Multicall3::Call3> = vaults.iter().flat_map(|vault| of(*vault)).collect();
    let results: Vec<Vec<Multicall3::Result>> = futures_util::stream::iter(all.chunks(calls))
        .map(|part| {
            let call = contract.aggregate3(part.to_vec()).block(at);
            async move { call.call().await }
        })
        .buffered(IN_FLIGHT)
        .try_collect()
        .await?;
    let value = |result: &Multicall3::Result| {
        let word: [u8; 32] = result.returnData.as_ref().try_into().ok().filter(|_| result.success)?;
        Some(U256::from_be_bytes(word))
    };
    let values: Option<Vec<U256>> = results.iter().flatten().map(value).collect();
    Ok(values.filter(|values| values.len() == all.len()).ok_or("a call failed")?)
}

fn of(vault: Address) -> [Multicall3::Call3; 6] {
    [
        Vault::assetCall {}.abi_encode(),
        Vault::decimalsCall {}.abi_encode(),
        Vault::totalAssetsCall {}.abi_encode(),
        Vault::totalSupplyCall {}.abi_encode(),
        Vault::maxDepositCall { receiver: HOLDER }.abi_encode(),
        Vault::maxRedeemCall { holder: HOLDER }.abi_encode(),
    ]
    .map(|data| Multicall3::Call3 { target: vault, allowFailure: true, callData: data.into() })
}
