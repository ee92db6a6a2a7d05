// SPDX-License-Identifier: Apache-2.0
// Vaults with the functions by which MetaMorpho, Euler v2, Yearn v3 and asynchronous vaults tell where their assets are, and a market with
// those of Compound v3. The published contracts cannot be had as packages; these are written for the tests alone.
pragma solidity ^0.8.0;

import {Token, Feed, Vault} from "World.sol";

struct MarketParams {
    address loanToken;
    address collateralToken;
    address oracle;
    address irm;
    uint256 lltv;
}

// What Morpho Blue offers to a lender.
interface Morpho {
    function supply(MarketParams calldata params, uint256 assets, uint256 shares, address onBehalf, bytes calldata data)
        external
        returns (uint256, uint256);
    function position(bytes32 id, address account) external view returns (uint256, uint128, uint128);
    function market(bytes32 id) external view returns (uint128, uint128, uint128, uint128, uint128, uint128);
}

// Lends in markets of Morpho Blue.
contract CuratedVault is Vault {
    Morpho public immutable MORPHO;
    uint256 public immutable timelock;
    address public curator;
    address public constant guardian = address(0);
    uint96 public constant fee = 0.1e18;
    uint256 public constant lostAssets = 0;
    bytes32[] private markets;

    constructor(string memory name_, Token asset_, address owner_, Morpho morpho_, uint256 timelock_)
        Vault(name_, "cvWUSD", asset_, owner_)
    {
        (MORPHO, timelock, curator) = (morpho_, timelock_, owner_);
    }

    // Anybody may divide the assets: the world has no money.
    function allocate(MarketParams calldata params, uint256 assets) external {
        bytes32 id = keccak256(abi.encode(params));
        markets.push(id);
        asset.approve(address(MORPHO), assets);
        MORPHO.supply(params, assets, 0, address(this), "");
    }

    function totalAssets() public view override returns (uint256 assets) {
        assets = asset.balanceOf(address(this));
        for (uint256 place = 0; place < markets.length; ++place) {
            (uint256 shares,,) = MORPHO.position(markets[place], address(this));
            (uint128 supply, uint128 supplyShares,,,,) = MORPHO.market(markets[place]);
            assets += shares * (uint256(supply) + 1) / (uint256(supplyShares) + 1e6);
        }
    }

    function previewRedeem(uint256 shares) external view returns (uint256) {
        return convertToAssets(shares);
    }

    function supplyQueueLength() external view returns (uint256) {
        return markets.length;
    }

    function supplyQueue(uint256 place) external view returns (bytes32) {
        return markets[place];
    }

    function withdrawQueueLength() external view returns (uint256) {
        return markets.length;
    }

    function withdrawQueue(uint256 place) external view returns (bytes32) {
        return markets[place];
    }

    function config(bytes32) external pure returns (uint184 cap, bool enabled, uint64 removableAt) {
        return (type(uint184).max, true, 0);
    }
}

// Names the oracles that it made.
contract OracleFactory {
    mapping(address => bool) public isMorphoChainlinkOracleV2;

    function make(uint256 price, address baseVault, address feed) external returns (address oracle) {
        oracle = address(new MarketOracle(price, baseVault, feed));
        isMorphoChainlinkOracleV2[oracle] = true;
    }
}

contract MarketOracle {
    uint256 public immutable price;
    address public immutable BASE_VAULT;
    address public immutable BASE_FEED_1;
    address public constant BASE_FEED_2 = address(0);
    address public constant QUOTE_VAULT = address(0);
    address public constant QUOTE_FEED_1 = address(0);
    address public constant QUOTE_FEED_2 = address(0);

    constructor(uint256 price_, address baseVault, address feed) {
        (price, BASE_VAULT, BASE_FEED_1) = (price_, baseVault, feed);
    }
}

// Lends against shares of other vaults.
contract CreditVault is Vault {
    struct Terms {
        uint16 borrow;
        uint16 liquidation;
        uint16 initial;
        uint48 end;
        uint32 duration;
    }

    address public immutable oracle;
    address public constant unitOfAccount = address(840);
    uint256 public totalBorrows;
    // 5 % a year.
    uint256 public constant interestRate = 1_585_489_599_188_229_325;
    uint16 public constant interestFee = 1_000;
    address[] private collaterals;
    mapping(address => Terms) public LTVFull;

    constructor(string memory name_, Token asset_, address owner_, address oracle_)
        Vault(name_, "ccWUSD", asset_, owner_)
    {
        oracle = oracle_;
    }

    function accept(address collateral, uint16 borrow, uint16 liquidation) external {
        collaterals.push(collateral);
        LTVFull[collateral] = Terms(borrow, liquidation, 0, 0, 0);
    }

    function borrow(uint256 assets, address to) external {
        totalBorrows += assets;
        lent += assets;
        asset.transfer(to, assets);
    }

    function governorAdmin() external view returns (address) {
        return owner;
    }

    function cash() external view returns (uint256) {
        return asset.balanceOf(address(this));
    }

    function caps() external pure returns (uint16, uint16) {
        return (0, 0);
    }

    function LTVList() external view returns (address[] memory) {
        return collaterals;
    }
}

// Puts its asset into other vaults.
contract StrategyVault is Vault {
    address[] private queue;
    mapping(address => uint256) private debts;
    uint256 public totalDebt;
    bool public isShutdown;

    constructor(string memory name_, Token asset_, address owner_) Vault(name_, "svWUSD", asset_, owner_) {}

    function role_manager() external view returns (address) {
        return owner;
    }

    function invest(Vault strategy, uint256 assets, bool isQueued) external {
        if (isQueued) queue.push(address(strategy));
        debts[address(strategy)] += assets;
        totalDebt += assets;
        lent += assets;
        asset.approve(address(strategy), assets);
        strategy.deposit(assets, address(this));
    }

    function shutDown() external {
        isShutdown = true;
    }

    function totalIdle() external view returns (uint256) {
        return asset.balanceOf(address(this));
    }

    function get_default_queue() external view returns (address[] memory) {
        return queue;
    }

    function strategies(address strategy) external view returns (uint256, uint256, uint256, uint256) {
        return (1, block.timestamp, debts[strategy], type(uint256).max);
    }
}

// Redeems by requests.
contract RequestVault is Vault {
    constructor(string memory name_, Token asset_, address owner_) Vault(name_, "rvWUSD", asset_, owner_) {}

    function supportsInterface(bytes4 id) external pure returns (bool) {
        return id == 0x01ffc9a7 || id == 0x620ee8e4;
    }

    function previewRedeem(uint256) external pure returns (uint256) {
        revert("by request only");
    }
}

// A market of one base token that is secured with several others.
contract Market {
    struct AssetInfo {
        uint8 offset;
        address asset;
        address priceFeed;
        uint64 scale;
        uint64 borrowCollateralFactor;
        uint64 liquidateCollateralFactor;
        uint64 liquidationFactor;
        uint128 supplyCap;
    }

    address public immutable baseToken;
    address public immutable baseTokenPriceFeed;
    address public governor;
    uint256 public totalSupply;
    uint256 public totalBorrow;
    bool public isSupplyPaused;
    bool public constant isWithdrawPaused = false;
    AssetInfo[] private infos;
    mapping(address => uint128) private deposits;

    constructor(address baseToken_, address feed, address governor_) {
        (baseToken, baseTokenPriceFeed, governor) = (baseToken_, feed, governor_);
    }

    function lend(uint256 supplied, uint256 borrowed) external {
        (totalSupply, totalBorrow) = (supplied, borrowed);
    }

    function pauseSupply(bool isPaused) external {
        isSupplyPaused = isPaused;
    }

    function secure(Token asset, address feed, uint128 amount) external {
        uint64 scale = uint64(10 ** asset.decimals());
        infos.push(AssetInfo(uint8(infos.length), address(asset), feed, scale, 0.8e18, 0.85e18, 0.93e18, type(uint128).max));
        deposits[address(asset)] = amount;
    }

    function numAssets() external view returns (uint8) {
        return uint8(infos.length);
    }

    function getAssetInfo(uint8 place) external view returns (AssetInfo memory) {
        return infos[place];
    }

    function totalsCollateral(address asset) external view returns (uint128, uint128) {
        return (deposits[asset], 0);
    }

    function getPrice(address feed) external view returns (uint256) {
        (, int256 answer,,,) = Feed(feed).latestRoundData();
        return uint256(answer);
    }

    function getUtilization() public view returns (uint256) {
        return totalSupply == 0 ? 0 : totalBorrow * 1e18 / totalSupply;
    }

    // 4 % and 5 % a year.
    function getSupplyRate(uint256) external pure returns (uint64) {
        return 1_268_391_679;
    }

    function getBorrowRate(uint256) external pure returns (uint64) {
        return 1_585_489_599;
    }
}
