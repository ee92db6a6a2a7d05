// SPDX-License-Identifier: Apache-2.0
// The contracts of a small world on a local node: a token, its price feed, a vault, and a timelock and a multisig that may own the vault.
pragma solidity ^0.8.0;

contract Token {
    string public name;
    string public symbol;
    uint8 public immutable decimals;
    uint256 public totalSupply;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;

    event Transfer(address indexed from, address indexed to, uint256 value);

    constructor(string memory name_, string memory symbol_, uint8 decimals_) {
        (name, symbol, decimals) = (name_, symbol_, decimals_);
    }

    // Anybody may mint: the world has no money.
    function mint(address to, uint256 value) external {
        totalSupply += value;
        balanceOf[to] += value;
        emit Transfer(address(0), to, value);
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
        balanceOf[from] -= value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
        return true;
    }
}

contract Feed {
    uint8 public constant decimals = 8;
    string public description;
    uint80 private round;
    int256 private answer;
    uint256 private updatedAt;

    constructor(string memory description_, int256 answer_) {
        description = description_;
        set(answer_);
    }

    function set(int256 answer_) public {
        (round, answer, updatedAt) = (round + 1, answer_, block.timestamp);
    }

    function latestRoundData() external view returns (uint80, int256, uint256, uint256, uint80) {
        return (round, answer, updatedAt, updatedAt, round);
    }
}

contract Vault {
    string public name;
    string public symbol;
    uint8 public constant decimals = 18;
    Token public immutable asset;
    address public owner;
    uint256 public cap = type(uint256).max;
    uint256 public totalSupply;
    mapping(address => uint256) public balanceOf;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Deposit(address indexed sender, address indexed owner, uint256 assets, uint256 shares);
    event Withdraw(
        address indexed sender, address indexed receiver, address indexed owner, uint256 assets, uint256 shares
    );
    event OwnershipTransferred(address indexed previous, address indexed next);

    constructor(string memory name_, string memory symbol_, Token asset_, address owner_) {
        (name, symbol, asset, owner) = (name_, symbol_, asset_, owner_);
        emit OwnershipTransferred(address(0), owner_);
    }

    modifier onlyOwner() {
        require(msg.sender == owner, "not the owner");
        _;
    }

    function transferOwnership(address next) external onlyOwner {
        emit OwnershipTransferred(owner, next);
        owner = next;
    }

    function setCap(uint256 cap_) external onlyOwner {
        cap = cap_;
    }

    // What the owner has lent to somebody.
    uint256 public lent;

    function lend(address to, uint256 assets) external onlyOwner {
        lent += assets;
        asset.transfer(to, assets);
    }

    // Whoever pays back must have approved the vault.
    function repay(uint256 assets) external {
        lent -= assets;
        asset.transferFrom(msg.sender, address(this), assets);
    }

    function totalAssets() public view virtual returns (uint256) {
        return asset.balanceOf(address(this)) + lent;
    }

    function convertToAssets(uint256 shares) public view returns (uint256) {
        return totalSupply == 0 ? shares / 10 ** (decimals - asset.decimals()) : shares * totalAssets() / totalSupply;
    }

    function convertToShares(uint256 assets) public view returns (uint256) {
        return totalSupply == 0 ? assets * 10 ** (decimals - asset.decimals()) : assets * totalSupply / totalAssets();
    }

    function maxDeposit(address) public view virtual returns (uint256) {
        if (cap == type(uint256).max) return cap;
        return cap > totalAssets() ? cap - totalAssets() : 0;
    }

    function maxRedeem(address holder) external view virtual returns (uint256) {
        return balanceOf[holder];
    }

    function deposit(uint256 assets, address receiver) external virtual returns (uint256 shares) {
        require(assets <= maxDeposit(receiver), "over the cap");
        shares = convertToShares(assets);
        asset.transferFrom(msg.sender, address(this), assets);
        totalSupply += shares;
        balanceOf[receiver] += shares;
        emit Transfer(address(0), receiver, shares);
        emit Deposit(msg.sender, receiver, assets, shares);
    }

    function redeem(uint256 shares, address receiver, address holder) external virtual returns (uint256 assets) {
        require(msg.sender == holder, "not the holder");
        assets = convertToAssets(shares);
        balanceOf[holder] -= shares;
        totalSupply -= shares;
        asset.transfer(receiver, assets);
        emit Transfer(holder, address(0), shares);
        emit Withdraw(msg.sender, receiver, holder, assets, shares);
    }
}

// With the functions of Compound's timelock. Whoever is its administrator may call anything after the delay.
contract Timelock {
    address public admin;
    address public pendingAdmin;
    uint256 public delay;
    mapping(bytes32 => uint256) public readyAt;

    constructor(address admin_, uint256 delay_) {
        (admin, delay) = (admin_, delay_);
    }

    function queue(address target, bytes calldata data) external {
        require(msg.sender == admin, "not the administrator");
        readyAt[keccak256(abi.encode(target, data))] = block.timestamp + delay;
    }

    function execute(address target, bytes calldata data) external {
        bytes32 id = keccak256(abi.encode(target, data));
        require(msg.sender == admin && readyAt[id] != 0 && readyAt[id] <= block.timestamp, "not ready");
        readyAt[id] = 0;
        (bool ok,) = target.call(data);
        require(ok, "the call failed");
    }
}

// Three owners of whom some must agree, with the functions by which a Safe is read. It has no modules and no guard.
contract Multisig {
    string public constant VERSION = "world-1";
    uint256 public immutable getThreshold;
    address[] private owners;
    mapping(bytes32 => mapping(address => bool)) public hasApproved;
    mapping(bytes32 => uint256) public approvals;

    constructor(address first, address second, address third, uint256 threshold) {
        owners = [first, second, third];
        getThreshold = threshold;
    }

    function getOwners() external view returns (address[] memory) {
        return owners;
    }

    function getModulesPaginated(address, uint256) external pure returns (address[] memory modules, address next) {
        return (new address[](0), address(1));
    }

    // The approval that is the last one needed makes the call.
    function approve(address target, bytes calldata data, uint256 nonce) external {
        require(msg.sender == owners[0] || msg.sender == owners[1] || msg.sender == owners[2], "not an owner");
        bytes32 id = keccak256(abi.encode(target, data, nonce));
        require(!hasApproved[id][msg.sender], "approved already");
        hasApproved[id][msg.sender] = true;
        approvals[id] += 1;
        if (approvals[id] != getThreshold) return;
        (bool ok,) = target.call(data);
        require(ok, "the call failed");
    }
}
