// SPDX-License-Identifier: Apache-2.0
// A factory of vaults. It tells of each with the event of one of the factories in use: 0 Yearn v3, 1 Euler, 2 Morpho Vault V2, 3 MetaMorpho.
pragma solidity ^0.8.0;

import {Token, Vault} from "World.sol";

contract Factory {
    event NewVault(address indexed vault, address indexed asset);
    event ProxyCreated(address indexed proxy, bool upgradeable, address implementation, bytes trailingData);
    event CreateVaultV2(address indexed owner, address indexed asset, bytes32 salt, address indexed newVaultV2);
    event CreateMetaMorpho(
        address indexed metaMorpho,
        address indexed caller,
        address initialOwner,
        uint256 initialTimelock,
        address indexed asset,
        string name,
        string symbol,
        bytes32 salt
    );

    address[] public made;

    function make(uint256 kind, string memory name, Token asset, address owner) external {
        Vault vault = new Vault(name, "made", asset, owner);
        made.push(address(vault));
        if (kind == 0) emit NewVault(address(vault), address(asset));
        if (kind == 1) emit ProxyCreated(address(vault), true, address(this), abi.encodePacked(asset));
        if (kind == 2) emit CreateVaultV2(owner, address(asset), 0, address(vault));
        if (kind == 3) emit CreateMetaMorpho(address(vault), msg.sender, owner, 1, address(asset), name, "made", 0);
    }
}
