// SPDX-License-Identifier: Apache-2.0
// Contracts that harm whoever reads them. Each looks like a vault of ERC-4626 and says that somebody deposited, so that it is found.
pragma solidity ^0.8.0;

// Answers as a plausible vault. The hostile ones override a part of it.
contract Plausible {
    address internal immutable token;

    event Deposit(address indexed sender, address indexed owner, uint256 assets, uint256 shares);

    constructor(address token_) {
        token = token_;
        emit Deposit(msg.sender, msg.sender, 1000000, 1000000000000000000);
    }

    function name() external view virtual returns (string memory) {
        return "Hostile";
    }

    function symbol() external view virtual returns (string memory) {
        return "HOST";
    }

    function decimals() external view virtual returns (uint256) {
        return 18;
    }

    function asset() external view virtual returns (address) {
        return token;
    }

    function totalAssets() external view virtual returns (uint256) {
        return 1000000;
    }

    function totalSupply() external view virtual returns (uint256) {
        return 1000000000000000000;
    }

    function convertToAssets(uint256 shares) external view virtual returns (uint256) {
        return shares / 1000000000000;
    }

    function maxDeposit(address) external view virtual returns (uint256) {
        return type(uint256).max;
    }

    function owner() external view virtual returns (address) {
        return address(this);
    }
}

// Uses up all the gas that it gets, whatever is asked.
contract Burner is Plausible {
    constructor(address token_) Plausible(token_) {}

    function burn() private pure {
        assembly {
            invalid()
        }
    }

    function spin() private view {
        while (gasleft() > 0) {}
    }

    function name() external view override returns (string memory) {
        spin();
        return "";
    }

    function decimals() external view override returns (uint256) {
        spin();
        return 18;
    }

    function totalAssets() external view override returns (uint256) {
        spin();
        return 1;
    }

    function totalSupply() external pure override returns (uint256) {
        burn();
        return 1;
    }

    function owner() external view override returns (address) {
        spin();
        return address(0);
    }
}

// Answers with as many bytes as its gas pays for, or with 10 million of them where there is gas for that.
contract Flood is Plausible {
    constructor(address token_) Plausible(token_) {}

    function flood() private view {
        // Memory of n words costs 3 n + n * n / 512 gas.
        uint256 size = 10000000;
        while (size > 32 && 3 * (size / 32) + (size / 32) * (size / 32) / 512 + 20000 > gasleft()) size = size * 9 / 10;
        assembly {
            return(0, size)
        }
    }

    function name() external view override returns (string memory) {
        flood();
    }

    function symbol() external view override returns (string memory) {
        flood();
    }

    function totalAssets() external view override returns (uint256) {
        flood();
    }

    function convertToAssets(uint256) external view override returns (uint256) {
        flood();
    }

    function owner() external view override returns (address) {
        flood();
    }
}

// Serves only callers without code, as the zero address of a call without sender: others get a refusal or another answer.
contract Choosy is Plausible {
    constructor(address token_) Plausible(token_) {}

    function totalAssets() external view override returns (uint256) {
        require(msg.sender.code.length == 0, "not you");
        return 1000000;
    }

    function convertToAssets(uint256 shares) external view override returns (uint256) {
        return msg.sender.code.length == 0 ? shares / 1000000000000 : shares;
    }

    function maxDeposit(address) external view override returns (uint256) {
        return msg.sender == address(0) ? 0 : type(uint256).max;
    }

    // Names another owner to callers that only readers of this service would be: an address that nobody uses.
    function owner() external view override returns (address) {
        return msg.sender == 0x000000000000000000000000000000000000fEAD ? token : address(this);
    }
}

// A token and vault of 255 decimals.
contract Endless is Plausible {
    constructor(address token_) Plausible(token_) {}

    function decimals() external pure override returns (uint256) {
        return 255;
    }

    function asset() external view override returns (address) {
        return address(this);
    }

    function totalSupply() external pure override returns (uint256) {
        return type(uint256).max;
    }

    function totalAssets() external pure override returns (uint256) {
        return type(uint256).max;
    }
}

// Says that it has more of its asset than there is.
contract Boaster is Plausible {
    constructor(address token_) Plausible(token_) {}

    function totalAssets() external pure override returns (uint256) {
        return 1000000000000000000000000000000;
    }
}

// Says that it has all of its asset, of which there is more than any vault can have.
contract Glutton is Plausible {
    constructor(address token_) Plausible(token_) {}

    function totalAssets() external view override returns (uint256) {
        return Plausible(token).totalSupply();
    }
}

// A token that lies about its supply, and a vault of itself that claims nearly all of it.
contract Liar is Plausible {
    constructor(address token_) Plausible(token_) {}

    function asset() external view override returns (address) {
        return address(this);
    }

    function totalSupply() external pure override returns (uint256) {
        return type(uint256).max;
    }

    function totalAssets() external pure override returns (uint256) {
        return type(uint256).max - 1;
    }

    function convertToAssets(uint256) external pure override returns (uint256) {
        return type(uint128).max;
    }
}

// Answers by the number of the block and by the gas that is left.
contract Fickle is Plausible {
    constructor(address token_) Plausible(token_) {}

    function totalAssets() external view override returns (uint256) {
        return block.number;
    }

    function convertToAssets(uint256) external view override returns (uint256) {
        return gasleft();
    }

    function maxDeposit(address) external view override returns (uint256) {
        return gasleft() > 3000000 ? type(uint256).max : 0;
    }
}

// Is gone at once: it says that somebody deposited, and leaves no code.
contract Gone {
    event Deposit(address indexed sender, address indexed owner, uint256 assets, uint256 shares);

    constructor() {
        emit Deposit(msg.sender, msg.sender, 1, 1);
        selfdestruct(payable(msg.sender));
    }
}

// Calls itself without end.
contract Endlessly is Plausible {
    constructor(address token_) Plausible(token_) {}

    function totalAssets() external view override returns (uint256) {
        return Plausible(address(this)).totalAssets() + 1;
    }
}

// Names the place as its asset at which the reader is during a call.
contract Mirror is Plausible {
    constructor(address token_) Plausible(token_) {}

    function asset() external pure override returns (address) {
        return 0xcA11bde05977b3631167028862bE2a173976CA11;
    }
}
