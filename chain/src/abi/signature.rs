//! The functions and events that this crate uses, by signature. Selectors and topics are computed from the signatures.

use super::{Selector, Word};
use sha3::{Digest, Keccak256};

/// The Keccak-256 hash of `bytes`, as Ethereum uses it: Keccak's padding, which differs from SHA-3's.
pub fn keccak256(bytes: &[u8]) -> [u8; 32] {
    Keccak256::digest(bytes).into()
}

macro_rules! signatures {
    ($(#[$about:meta])* $name:ident { $($(#[$item:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $(#[doc = concat!("`", $text, "`")] $(#[doc = ""] #[$item])* $variant,)+ }

        impl $name {
            /// Every one, in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The signature: name and types of the parameters, without spaces.
            pub const fn signature(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }
    };
}

signatures! {
    /// A function that is called.
    Function {
        // ERC-20.
        Decimals = "decimals()",
        TotalSupply = "totalSupply()",
        Symbol = "symbol()",
        Name = "name()",
        BalanceOf = "balanceOf(address)",
        // ERC-4626.
        Asset = "asset()",
        TotalAssets = "totalAssets()",
        ConvertToAssets = "convertToAssets(uint256)",
        MaxDeposit = "maxDeposit(address)",
        MaxMint = "maxMint(address)",
        MaxWithdraw = "maxWithdraw(address)",
        MaxRedeem = "maxRedeem(address)",
        // Access: OpenZeppelin's Ownable and AccessControl, and common names of the same.
        Owner = "owner()",
        PendingOwner = "pendingOwner()",
        Governance = "governance()",
        Governor = "governor()",
        Authority = "authority()",
        HasRole = "hasRole(bytes32,address)",
        RoleMemberCount = "getRoleMemberCount(bytes32)",
        RoleMember = "getRoleMember(bytes32,uint256)",
        // OpenZeppelin's ProxyAdmin: the first since version 5, the second before.
        UpgradeInterfaceVersion = "UPGRADE_INTERFACE_VERSION()",
        ProxyAdminOf = "getProxyAdmin(address)",
        // A beacon of ERC-1967.
        Implementation = "implementation()",
        // OpenZeppelin's TimelockController.
        MinDelay = "getMinDelay()",
        // Compound's Timelock. `admin()` is also a common name of an owner.
        Delay = "delay()",
        Admin = "admin()",
        PendingAdmin = "pendingAdmin()",
        // Safe.
        Threshold = "getThreshold()",
        Owners = "getOwners()",
        Version = "VERSION()",
        ModulesPaginated = "getModulesPaginated(address,uint256)",
        // Chainlink.
        LatestRoundData = "latestRoundData()",
        Description = "description()",
        Aggregator = "aggregator()",
        MinAnswer = "minAnswer()",
        MaxAnswer = "maxAnswer()",
        // Powers over a token.
        Paused = "paused()",
        MinterRole = "MINTER_ROLE()",
        Minter = "minter()",
        MasterMinter = "masterMinter()",
        IsMinter = "isMinter(address)",
        IsBlacklisted = "isBlacklisted(address)",
        IsBlackListed = "isBlackListed(address)",
        GetBlackListStatus = "getBlackListStatus(address)",
        IsBlocked = "isBlocked(address)",
        IsFrozen = "isFrozen(address)",
        Frozen = "frozen(address)",
        IsDenied = "isDenied(address)",
        /// No contract has this function. A contract that answers it answers anything, so its other answers do not show what it has.
        NoSuchFunction = "rdsNoSuchFunction(address)",
        // ERC-165.
        SupportsInterface = "supportsInterface(bytes4)",
        // Multicall3.
        Aggregate3 = "aggregate3((address,bool,bytes)[])",
        // Arbitrum's ArbSys.
        /// The number of the current L2 block.
        ArbBlockNumber = "arbBlockNumber()",
        /// The hash of one of the last 256 L2 blocks.
        ArbBlockHash = "arbBlockHash(uint256)",
        // Morpho Blue.
        IdToMarketParams = "idToMarketParams(bytes32)",
        Market = "market(bytes32)",
        Position = "position(bytes32,address)",
        Price = "price()",
        // MetaMorpho.
        Morpho = "MORPHO()",
        SupplyQueueLength = "supplyQueueLength()",
        SupplyQueue = "supplyQueue(uint256)",
        WithdrawQueueLength = "withdrawQueueLength()",
        WithdrawQueue = "withdrawQueue(uint256)",
        Config = "config(bytes32)",
        Fee = "fee()",
        Timelock = "timelock()",
        Curator = "curator()",
        Guardian = "guardian()",
        LostAssets = "lostAssets()",
        // Morpho Vault V2.
        AdaptersLength = "adaptersLength()",
        Adapters = "adapters(uint256)",
        LiquidityAdapter = "liquidityAdapter()",
        ReceiveSharesGate = "receiveSharesGate()",
        SendSharesGate = "sendSharesGate()",
        ReceiveAssetsGate = "receiveAssetsGate()",
        SendAssetsGate = "sendAssetsGate()",
        TimelockOf = "timelock(bytes4)",
        Abdicated = "abdicated(bytes4)",
        AbsoluteCap = "absoluteCap(bytes32)",
        RelativeCap = "relativeCap(bytes32)",
        Allocation = "allocation(bytes32)",
        // Functions of its curator: only their selectors are used, as arguments of `timelock` and `abdicated`.
        AddAdapter = "addAdapter(address)",
        RemoveAdapter = "removeAdapter(address)",
        IncreaseAbsoluteCap = "increaseAbsoluteCap(bytes,uint256)",
        IncreaseRelativeCap = "increaseRelativeCap(bytes,uint256)",
        SetReceiveSharesGate = "setReceiveSharesGate(address)",
        SetSendSharesGate = "setSendSharesGate(address)",
        SetReceiveAssetsGate = "setReceiveAssetsGate(address)",
        SetForceDeallocatePenalty = "setForceDeallocatePenalty(address,uint256)",
        // Adapters of Morpho Vault V2: all of them, those of one vault, those of markets of Morpho Blue.
        ParentVault = "parentVault()",
        RealAssets = "realAssets()",
        MorphoVaultV1 = "morphoVaultV1()",
        MorphoOfAdapter = "morpho()",
        MarketIdsLength = "marketIdsLength()",
        MarketIds = "marketIds(uint256)",
        SupplyShares = "supplyShares(bytes32)",
        /// Of the first version of the adapter of markets, as the next one.
        MarketParamsListLength = "marketParamsListLength()",
        MarketParamsList = "marketParamsList(uint256)",
        // Morpho's oracle, MorphoChainlinkOracleV2, and the factory that made it.
        IsMorphoChainlinkOracleV2 = "isMorphoChainlinkOracleV2(address)",
        BaseVault = "BASE_VAULT()",
        BaseFeed1 = "BASE_FEED_1()",
        BaseFeed2 = "BASE_FEED_2()",
        QuoteVault = "QUOTE_VAULT()",
        QuoteFeed1 = "QUOTE_FEED_1()",
        QuoteFeed2 = "QUOTE_FEED_2()",
        // Aave v3. The first two are of a supply token.
        Pool = "POOL()",
        UnderlyingAsset = "UNDERLYING_ASSET_ADDRESS()",
        GetReservesList = "getReservesList()",
        GetReserveAddressById = "getReserveAddressById(uint16)",
        AddressesProvider = "ADDRESSES_PROVIDER()",
        GetMarketId = "getMarketId()",
        GetPoolDataProvider = "getPoolDataProvider()",
        GetPriceOracle = "getPriceOracle()",
        BaseCurrencyUnit = "BASE_CURRENCY_UNIT()",
        GetConfiguration = "getConfiguration(address)",
        /// Of the data provider. The pool's function of the same signature returns a struct of another shape.
        GetReserveData = "getReserveData(address)",
        GetReserveTokensAddresses = "getReserveTokensAddresses(address)",
        GetReserveDeficit = "getReserveDeficit(address)",
        GetAssetPrice = "getAssetPrice(address)",
        GetSourceOfAsset = "getSourceOfAsset(address)",
        GetEModeCategoryData = "getEModeCategoryData(uint8)",
        GetEModeCategoryCollateralBitmap = "getEModeCategoryCollateralBitmap(uint8)",
        GetEModeCategoryBorrowableBitmap = "getEModeCategoryBorrowableBitmap(uint8)",
        GetEModeCategoryLtvzeroBitmap = "getEModeCategoryLtvzeroBitmap(uint8)",
        // Euler v2 (EVK).
        TotalBorrows = "totalBorrows()",
        Cash = "cash()",
        Caps = "caps()",
        LtvList = "LTVList()",
        LtvFull = "LTVFull(address)",
        Oracle = "oracle()",
        UnitOfAccount = "unitOfAccount()",
        GovernorAdmin = "governorAdmin()",
        InterestRate = "interestRate()",
        InterestFee = "interestFee()",
        // Yearn v3.
        GetDefaultQueue = "get_default_queue()",
        Strategies = "strategies(address)",
        TotalDebt = "totalDebt()",
        TotalIdle = "totalIdle()",
        IsShutdown = "isShutdown()",
        RoleManager = "role_manager()",
        // Compound v3 (Comet).
        NumAssets = "numAssets()",
        GetAssetInfo = "getAssetInfo(uint8)",
        BaseToken = "baseToken()",
        BaseTokenPriceFeed = "baseTokenPriceFeed()",
        TotalBorrow = "totalBorrow()",
        GetUtilization = "getUtilization()",
        GetSupplyRate = "getSupplyRate(uint256)",
        GetBorrowRate = "getBorrowRate(uint256)",
        IsSupplyPaused = "isSupplyPaused()",
        IsWithdrawPaused = "isWithdrawPaused()",
        TotalsCollateral = "totalsCollateral(address)",
        /// Of a price feed, in 10^-8 of the currency of prices.
        GetPrice = "getPrice(address)",
        // ERC-7575 and ERC-7540.
        Share = "share()",
        PendingDepositRequest = "pendingDepositRequest(uint256,address)",
        ClaimableDepositRequest = "claimableDepositRequest(uint256,address)",
        PendingRedeemRequest = "pendingRedeemRequest(uint256,address)",
        ClaimableRedeemRequest = "claimableRedeemRequest(uint256,address)",
        PreviewDeposit = "previewDeposit(uint256)",
        PreviewRedeem = "previewRedeem(uint256)",
        // The interest rate model of a Morpho Blue market: parameters, then totals.
        BorrowRateView = "borrowRateView((address,address,address,address,uint256),(uint128,uint128,uint128,uint128,uint128,uint128))",
    }
}

signatures! {
    /// An event that is searched for in logs.
    Event {
        // ERC-20.
        Transfer = "Transfer(address,address,uint256)",
        // ERC-4626.
        Deposit = "Deposit(address,address,uint256,uint256)",
        Withdraw = "Withdraw(address,address,address,uint256,uint256)",
        // ERC-1967.
        Upgraded = "Upgraded(address)",
        AdminChanged = "AdminChanged(address,address)",
        // OpenZeppelin's Ownable, AccessControl and TimelockController.
        OwnershipTransferred = "OwnershipTransferred(address,address)",
        RoleGranted = "RoleGranted(bytes32,address,address)",
        RoleRevoked = "RoleRevoked(bytes32,address,address)",
        MinDelayChange = "MinDelayChange(uint256,uint256)",
        // Safe.
        AddedOwner = "AddedOwner(address)",
        RemovedOwner = "RemovedOwner(address)",
        ChangedThreshold = "ChangedThreshold(uint256)",
    }
}

signatures! {
    /// An event with which a factory tells that it made a vault.
    Creation {
        // MetaMorpho's factory.
        CreateMetaMorpho = "CreateMetaMorpho(address,address,address,uint256,address,string,string,bytes32)",
        // The factory of Morpho Vault V2.
        CreateVaultV2 = "CreateVaultV2(address,address,bytes32,address)",
        // Euler's factory of proxies.
        ProxyCreated = "ProxyCreated(address,bool,address,bytes)",
        // The factory of Yearn v3.
        NewVault = "NewVault(address,address)",
    }
}

impl Function {
    /// The first four bytes of the signature's hash.
    pub fn selector(self) -> Selector {
        let [a, b, c, d, ..] = keccak256(self.signature().as_bytes());
        [a, b, c, d]
    }
}

impl Event {
    /// The signature's hash: the first topic of the event's logs.
    pub fn topic(self) -> Word {
        Word(keccak256(self.signature().as_bytes()))
    }
}

impl Creation {
    /// The signature's hash: the first topic of the event's logs.
    pub fn topic(self) -> Word {
        Word(keccak256(self.signature().as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn selectors_and_topics_are_those_of_the_standards() {
        for (function, selector) in [
            (Function::TotalAssets, [0x01, 0xe1, 0xd1, 0x14]),
            (Function::Asset, [0x38, 0xd5, 0x2e, 0x0f]),
            (Function::Decimals, [0x31, 0x3c, 0xe5, 0x67]),
            (Function::ConvertToAssets, [0x07, 0xa2, 0xd1, 0x3a]),
            (Function::Aggregate3, [0x82, 0xad, 0x56, 0xcb]),
        ] {
            assert_eq!(function.selector(), selector, "{}", function.signature());
        }
        let transfer = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
        assert_eq!(Event::Transfer.topic().to_string(), transfer);
    }

    #[test]
    fn no_two_functions_share_a_selector() {
        let mut selectors: std::vec::Vec<_> = Function::ALL.iter().map(|function| function.selector()).collect();
        selectors.sort_unstable();
        selectors.dedup();
        assert_eq!(selectors.len(), Function::ALL.len());
    }
}
