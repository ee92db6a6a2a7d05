// SPDX-License-Identifier: Apache-2.0
// A vault whose `maxDeposit` says nothing of what `deposit` and `redeem` refuse.
pragma solidity ^0.8.0;

import {Token, Vault} from "World.sol";

contract GatedVault is Vault {
    bool public isPaused;
    uint256 public minimum;
    bool public hasLock;
    mapping(address => uint256) public depositedIn;

    constructor(string memory name_, Token asset_, address owner_) Vault(name_, "gvWUSD", asset_, owner_) {}

    // Anybody may set the gates: the world has no money.
    function set(bool isPaused_, uint256 minimum_, bool hasLock_) external {
        (isPaused, minimum, hasLock) = (isPaused_, minimum_, hasLock_);
    }

    function deposit(uint256 assets, address receiver) external override returns (uint256 shares) {
        require(!isPaused, "deposits are paused");
        require(assets >= minimum, "less than the minimum");
        depositedIn[receiver] = block.number;
        shares = convertToShares(assets);
        asset.transferFrom(msg.sender, address(this), assets);
        totalSupply += shares;
        balanceOf[receiver] += shares;
        emit Transfer(address(0), receiver, shares);
        emit Deposit(msg.sender, receiver, assets, shares);
    }

    function redeem(uint256 shares, address receiver, address holder) external override returns (uint256 assets) {
        require(msg.sender == holder, "not the holder");
        require(!hasLock || depositedIn[holder] < block.number, "locked in the block of the deposit");
        assets = convertToAssets(shares);
        balanceOf[holder] -= shares;
        totalSupply -= shares;
        asset.transfer(receiver, assets);
        emit Transfer(holder, address(0), shares);
        emit Withdraw(msg.sender, receiver, holder, assets, shares);
    }
}
