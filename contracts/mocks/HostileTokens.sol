// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// @notice A plain ERC-20 that anybody can mint; the others differ from it in one thing each.
contract OpenToken is ERC20 {
    constructor() ERC20("Open", "OPEN") {}

    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }
}

/// @notice Moves the money and returns nothing, as USDT does. Its symbol is a word, as those of old tokens are.
contract NoReturnToken {
    // solhint-disable-next-line const-name-snakecase
    bytes32 public constant symbol = "MUTE";
    // solhint-disable-next-line const-name-snakecase
    uint256 public constant decimals = 8;
    mapping(address account => uint256) public balanceOf;
    mapping(address owner => mapping(address spender => uint256)) public allowance;

    event Transfer(address indexed from, address indexed to, uint256 value);

    error Insufficient();

    function mint(address to, uint256 amount) external {
        balanceOf[to] += amount;
    }

    function transfer(address to, uint256 amount) external {
        _move(msg.sender, to, amount);
    }

    function approve(address spender, uint256 amount) external {
        allowance[msg.sender][spender] = amount;
    }

    function transferFrom(address from, address to, uint256 amount) external {
        if (allowance[from][msg.sender] < amount) revert Insufficient();
        allowance[from][msg.sender] -= amount;
        _move(from, to, amount);
    }

    function _move(address from, address to, uint256 amount) private {
        if (balanceOf[from] < amount) revert Insufficient();
        balanceOf[from] -= amount;
        balanceOf[to] += amount;
        emit Transfer(from, to, amount);
    }
}

/// @notice Returns false and moves nothing, where others revert.
contract FalseReturnToken is OpenToken {
    function transferFrom(address, address, uint256) public pure override returns (bool) {
        return false;
    }
}

/// @notice Moves the money, and answers whatever it was told to, also when it is asked for a balance.
contract MumblingToken is OpenToken {
    enum Manner {
        Honest,
        Answers,
        FailsOnceHeld
    }

    bytes private _answer = abi.encode(true);
    bytes private _balance;
    Manner private _manner;
    bool private _refuses;

    function setAnswer(bytes calldata answer) external {
        _answer = answer;
    }

    /// @dev Whether a transfer fails, without a word.
    function setRefuses(bool value) external {
        _refuses = value;
    }

    function setBalance(Manner manner, bytes calldata balance) external {
        (_manner, _balance) = (manner, balance);
    }

    function transferFrom(address from, address to, uint256 amount) public override returns (bool) {
        // solhint-disable-next-line gas-custom-errors, reason-string
        require(!_refuses);
        super.transferFrom(from, to, amount);
        bytes memory answer = _answer;
        assembly {
            return(add(answer, 0x20), mload(answer))
        }
    }

    function balanceOf(address account) public view override returns (uint256) {
        if (_manner == Manner.Honest) return super.balanceOf(account);
        bytes memory answer = _balance;
        bool fails = _manner == Manner.FailsOnceHeld;
        if (fails && super.balanceOf(account) == 0) return 0;
        assembly {
            if fails {
                revert(add(answer, 0x20), mload(answer))
            }
            return(add(answer, 0x20), mload(answer))
        }
    }
}

/// @notice Returns true and moves nothing.
contract LyingToken is OpenToken {
    function transferFrom(address, address, uint256) public pure override returns (bool) {
        return true;
    }
}

/// @notice Keeps one percent of what it moves.
contract FeeToken is OpenToken {
    function _update(address from, address to, uint256 value) internal override {
        if (from == address(0)) return super._update(from, to, value);
        super._update(from, address(this), value / 100);
        super._update(from, to, value - value / 100);
    }
}

/// @notice Changes every balance a little whenever it moves money.
contract RebasingToken is OpenToken {
    int256 public drift;
    int256 private _step;

    function setStep(int256 step) external {
        _step = step;
    }

    function balanceOf(address account) public view override returns (uint256) {
        return uint256(int256(super.balanceOf(account)) + drift);
    }

    function _update(address from, address to, uint256 value) internal override {
        super._update(from, to, value);
        drift += _step;
    }
}

/// @notice Moves anybody's money, and does not say what the allowance is.
contract MuteToken {
    mapping(address account => uint256) public balanceOf;
    bool private _refuses;

    error Refused(uint256 anything);

    function mint(address to, uint256 amount) external {
        balanceOf[to] += amount;
    }

    /// @dev Whether the question for the allowance fails, or has an empty answer.
    function setRefuses(bool value) external {
        _refuses = value;
    }

    function transferFrom(address from, address to, uint256 amount) external returns (bool) {
        balanceOf[from] -= amount;
        balanceOf[to] += amount;
        return true;
    }

    function allowance(address, address) external view {
        if (_refuses) revert Refused(type(uint256).max);
    }
}

/// @notice Calls somebody, once, in the middle of a transfer.
contract ReentrantToken is OpenToken {
    address private _target;
    bytes private _data;
    bool public tried;
    bool public succeeded;
    bytes public answer;

    function prepare(address target, bytes calldata data) external {
        (_target, _data, tried) = (target, data, false);
    }

    function _update(address from, address to, uint256 value) internal override {
        if (from != address(0) && _target != address(0) && !tried) {
            tried = true;
            // solhint-disable-next-line avoid-low-level-calls
            (succeeded, answer) = _target.call(_data);
        }
        super._update(from, to, value);
    }
}

/// @notice Answers every transfer with a megabyte.
contract ReturnBombToken is OpenToken {
    function transferFrom(address from, address to, uint256 amount) public override returns (bool) {
        super.transferFrom(from, to, amount);
        assembly {
            mstore(0, 1)
            return(0, 1000000)
        }
    }
}

/// @notice Pretends to be a token with ERC-3009: it claims the domain of another and takes any signature.
contract ForgingToken is OpenToken {
    // solhint-disable-next-line var-name-mixedcase
    bytes32 public DOMAIN_SEPARATOR;

    constructor(bytes32 domainSeparator) {
        DOMAIN_SEPARATOR = domainSeparator;
    }

    function receiveWithAuthorization(
        address,
        address to,
        uint256 value,
        uint256,
        uint256,
        bytes32,
        uint8,
        bytes32,
        bytes32
    ) external {
        _mint(to, value);
    }
}

/// @notice Has ERC-3009 in name only: the domain is right, the signature too, and the money never comes.
contract EmptyHandedToken is OpenToken {
    // solhint-disable-next-line var-name-mixedcase
    bytes32 public immutable DOMAIN_SEPARATOR = keccak256("a domain");
    bool private _delivers;

    /// @dev Whether the settlement contract gets the money; the payee never does.
    function setDelivers(bool value) external {
        _delivers = value;
    }

    function receiveWithAuthorization(
        address,
        address to,
        uint256 value,
        uint256,
        uint256,
        bytes32,
        uint8,
        bytes32,
        bytes32
    ) external {
        if (_delivers) _mint(to, value);
    }

    function transfer(address, uint256) public pure override returns (bool) {
        return true;
    }
}
