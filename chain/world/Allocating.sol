// SPDX-License-Identifier: Apache-2.0
// A vault with the functions by which Morpho Vault V2 tells where its assets are, and adapters of three kinds. The published contracts cannot
// be had as packages; these are written for the tests alone.
pragma solidity ^0.8.0;

import {Token, Vault} from "World.sol";
import {CuratedVault, MarketParams, Morpho} from "Lending.sol";

interface Adapter {
    function realAssets() external view returns (uint256);
    function allocate(bytes calldata data, uint256 assets) external returns (bytes32[] memory ids);
}

// Gives its asset to adapters. It takes deposits, although every limit that it states is 0.
contract AllocatingVault is Vault {
    address public curator;
    address public liquidityAdapter;
    address public receiveSharesGate;
    address public sendSharesGate;
    address public receiveAssetsGate;
    address public sendAssetsGate;
    address[] public adapters;
    mapping(bytes4 => uint256) public timelock;
    mapping(bytes4 => bool) public abdicated;
    mapping(bytes32 => uint256) public absoluteCap;
    mapping(bytes32 => uint256) public relativeCap;
    mapping(bytes32 => uint256) public allocation;

    constructor(string memory name_, Token asset_, address owner_) Vault(name_, "avWUSD", asset_, owner_) {
        curator = owner_;
    }

    function adaptersLength() external view returns (uint256) {
        return adapters.length;
    }

    function totalAssets() public view override returns (uint256 assets) {
        assets = asset.balanceOf(address(this));
        for (uint256 place = 0; place < adapters.length; ++place) assets += Adapter(adapters[place]).realAssets();
    }

    function maxDeposit(address) public pure override returns (uint256) {
        return 0;
    }

    function maxRedeem(address) external pure override returns (uint256) {
        return 0;
    }

    function deposit(uint256 assets, address receiver) external override returns (uint256 shares) {
        shares = convertToShares(assets);
        asset.transferFrom(msg.sender, address(this), assets);
        totalSupply += shares;
        balanceOf[receiver] += shares;
        emit Transfer(address(0), receiver, shares);
        emit Deposit(msg.sender, receiver, assets, shares);
    }

    // Anybody may decide everything that follows: the world has no money.
    function addAdapter(address adapter) external {
        adapters.push(adapter);
    }

    function setTimelock(bytes4 selector, uint256 seconds_) external {
        timelock[selector] = seconds_;
    }

    function abdicate(bytes4 selector) external {
        abdicated[selector] = true;
    }

    function setGates(address receiveShares, address sendShares, address receiveAssets, address sendAssets) external {
        (receiveSharesGate, sendSharesGate, receiveAssetsGate, sendAssetsGate) =
            (receiveShares, sendShares, receiveAssets, sendAssets);
    }

    function setLiquidityAdapter(address adapter) external {
        liquidityAdapter = adapter;
    }

    function setCaps(address adapter, uint256 absolute, uint256 relative) external {
        bytes32 id = keccak256(abi.encode("this", adapter));
        (absoluteCap[id], relativeCap[id]) = (absolute, relative);
    }

    // To a vault, or to an adapter of anything else.
    function allocate(address adapter, uint256 assets) external {
        give(adapter, "", assets);
    }

    function allocateToMarket(address adapter, MarketParams calldata params, uint256 assets) external {
        give(adapter, abi.encode(params), assets);
    }

    function give(address adapter, bytes memory data, uint256 assets) private {
        asset.transfer(adapter, assets);
        bytes32[] memory ids = Adapter(adapter).allocate(data, assets);
        for (uint256 place = 0; place < ids.length; ++place) allocation[ids[place]] += assets;
    }
}

abstract contract OfVault is Adapter {
    address public immutable parentVault;
    Token public immutable asset;

    constructor(Vault vault) {
        (parentVault, asset) = (address(vault), vault.asset());
    }

    function ids() internal view returns (bytes32[] memory list) {
        list = new bytes32[](1);
        list[0] = keccak256(abi.encode("this", address(this)));
    }
}

// Holds shares of a vault that lends in markets of Morpho Blue.
contract VaultAdapter is OfVault {
    CuratedVault public immutable morphoVaultV1;

    constructor(Vault vault, CuratedVault inner) OfVault(vault) {
        morphoVaultV1 = inner;
    }

    function allocate(bytes calldata, uint256 assets) external returns (bytes32[] memory) {
        asset.approve(address(morphoVaultV1), assets);
        morphoVaultV1.deposit(assets, address(this));
        return ids();
    }

    function realAssets() external view returns (uint256) {
        return morphoVaultV1.previewRedeem(morphoVaultV1.balanceOf(address(this)));
    }
}

// Lends in markets of Morpho Blue itself.
contract MarketAdapter is OfVault {
    Morpho public immutable morpho;
    bytes32[] public marketIds;
    mapping(bytes32 => uint256) public supplyShares;

    constructor(Vault vault, Morpho morpho_) OfVault(vault) {
        morpho = morpho_;
    }

    function marketIdsLength() external view returns (uint256) {
        return marketIds.length;
    }

    function allocate(bytes calldata data, uint256 assets) external returns (bytes32[] memory) {
        MarketParams memory params = abi.decode(data, (MarketParams));
        bytes32 id = keccak256(abi.encode(params));
        asset.approve(address(morpho), assets);
        (, uint256 shares) = morpho.supply(params, assets, 0, address(this), "");
        if (supplyShares[id] == 0) marketIds.push(id);
        supplyShares[id] += shares;
        return ids();
    }

    function realAssets() external view returns (uint256 assets) {
        for (uint256 place = 0; place < marketIds.length; ++place) {
            (uint128 supply, uint128 shares,,,,) = morpho.market(marketIds[place]);
            assets += supplyShares[marketIds[place]] * (uint256(supply) + 1) / (uint256(shares) + 1e6);
        }
    }
}

// Says only what it is worth.
contract OtherAdapter is OfVault {
    constructor(Vault vault) OfVault(vault) {}

    function allocate(bytes calldata, uint256) external view returns (bytes32[] memory) {
        return ids();
    }

    function realAssets() external view returns (uint256) {
        return asset.balanceOf(address(this));
    }
}
