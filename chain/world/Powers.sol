// SPDX-License-Identifier: Apache-2.0
// A token with powers under names that tokens in use have. It runs behind a proxy: everything that a proxy must have from the beginning is
// part of the code.
pragma solidity ^0.8.0;

contract Coin {
    string public constant name = "Power Dollar";
    string public constant symbol = "PUSD";
    uint8 public constant decimals = 6;
    address public immutable minter;
    bool public paused;
    uint256 public totalSupply;
    mapping(address => bool) public isFrozen;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;

    event Transfer(address indexed from, address indexed to, uint256 value);

    constructor(address minter_) {
        minter = minter_;
    }

    modifier onlyMinter() {
        require(msg.sender == minter, "not the minter");
        _;
    }

    function mint(address to, uint256 value) external onlyMinter {
        totalSupply += value;
        balanceOf[to] += value;
        emit Transfer(address(0), to, value);
    }

    function pause(bool paused_) external onlyMinter {
        paused = paused_;
    }

    function freeze(address holder, bool isFrozen_) external onlyMinter {
        isFrozen[holder] = isFrozen_;
    }

    function approve(address spender, uint256 value) external returns (bool) {
        allowance[msg.sender][spender] = value;
        return true;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        return move(msg.sender, to, value);
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        allowance[from][msg.sender] -= value;
        return move(from, to, value);
    }

    function move(address from, address to, uint256 value) private returns (bool) {
        require(!paused && !isFrozen[from] && !isFrozen[to], "stopped");
        balanceOf[from] -= value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
        return true;
    }
}
