// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

// prettier-ignore
import {
    AccessControlDefaultAdminRules
} from "@openzeppelin/contracts/access/extensions/AccessControlDefaultAdminRules.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC3009} from "@openzeppelin/contracts/token/ERC20/extensions/draft-ERC3009.sol";
import {ERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";

import {IERC3009Signature} from "./interfaces/IERC3009Signature.sol";
import {IReferenceDollar} from "./interfaces/IReferenceDollar.sol";

/// @title ReferenceDollar
/// @notice See {IReferenceDollar}, which is the specification.
/// @dev OpenZeppelin's ERC-20 is inherited, but its balances and its supply are kept here, for the sake of gas: a mint
/// writes three words (the memo's, the minter's, the holder's) and reads one (the pause with the totals). A balance
/// shares its word with the freeze, as USDC's does, and supply is counted by minter, where the allowance is.
contract ReferenceDollar is
    IReferenceDollar,
    IERC3009Signature,
    ERC20Permit,
    ERC3009,
    AccessControlDefaultAdminRules,
    Pausable
{
    using SafeCast for uint256;

    /// @dev What a minter may still mint, what it has minted, and its place in the list, counted from one.
    struct Minter {
        uint120 allowance;
        uint120 minted;
        uint8 place;
    }

    /// @notice May pause and unpause.
    bytes32 public constant PAUSER_ROLE = keccak256("PAUSER_ROLE");

    /// @notice May freeze and unfreeze.
    bytes32 public constant FREEZER_ROLE = keccak256("FREEZER_ROLE");

    /// @notice How many minters there can be: the supply is a sum over them.
    uint256 public constant MAX_MINTERS = 16;

    bytes32 private constant PERMIT_TYPEHASH = keccak256(
        "Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)"
    );

    uint48 private constant ADMIN_DELAY = 1 days;

    uint256 private constant FROZEN = 1 << 255;

    /// @dev What minters who were removed had minted. Shares its word with the pause, as does the next.
    uint120 private _retired;

    uint120 private _burnt;

    address[] private _minterList;

    mapping(address minter => Minter) private _minters;

    /// @dev Balances, with the freeze as the highest bit.
    mapping(address account => uint256 balanceAndFreeze) private _accounts;

    /// @dev Which memos are used, 256 to a word, each origin for itself.
    mapping(address from => mapping(uint256 index => uint256 bits)) private _memos;

    /// @param admin The first default admin, which holds no other role. As the argument is part of the creation code,
    /// the address of the token depends on it.
    constructor(
        address admin
    )
        ERC20("Reference Dollar", "RUSD")
        ERC20Permit("Reference Dollar")
        AccessControlDefaultAdminRules(ADMIN_DELAY, admin)
    {}

    /// @inheritdoc IReferenceDollar
    function mintWithMemo(address to, uint256 amount, bytes32 memo) external {
        _useMemo(address(0), amount, memo);

        Minter storage minter = _minters[msg.sender];
        uint256 allowance = minter.allowance;
        if (amount > allowance) revert MinterAllowanceExceeded(msg.sender, allowance, amount);
        uint120 minted = minter.minted + uint120(amount);
        (minter.allowance, minter.minted) = (uint120(allowance - amount), minted);

        emit Mint(msg.sender, to, amount);
        _mint(to, amount);
        emit TransferWithMemo(address(0), to, amount, memo);
    }

    /// @inheritdoc IReferenceDollar
    function burnWithMemo(uint256 amount, bytes32 memo) external {
        _useMemo(msg.sender, amount, memo);
        emit Burn(msg.sender, amount);
        _burn(msg.sender, amount);
        emit TransferWithMemo(msg.sender, address(0), amount, memo);
    }

    /// @inheritdoc IReferenceDollar
    function transferWithMemo(address to, uint256 amount, bytes32 memo) external {
        _useMemo(msg.sender, amount, memo);
        _transfer(msg.sender, to, amount);
        emit TransferWithMemo(msg.sender, to, amount, memo);
    }

    /// @inheritdoc IReferenceDollar
    function permit(
        address owner,
        address spender,
        uint256 value,
        uint256 deadline,
        bytes calldata signature
    ) external {
        if (block.timestamp > deadline) revert ERC2612ExpiredSignature(deadline);
        _checkSignature(
            owner,
            keccak256(abi.encode(PERMIT_TYPEHASH, owner, spender, value, _useNonce(owner), deadline)),
            signature
        );
        _approve(owner, spender, value);
    }

    /// @inheritdoc IERC3009Signature
    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes calldata signature
    ) external {
        _checkSignature(
            from,
            keccak256(
                abi.encode(TRANSFER_WITH_AUTHORIZATION_TYPEHASH, from, to, value, validAfter, validBefore, nonce)
            ),
            signature
        );
        _transferWithAuthorization(from, to, value, validAfter, validBefore, nonce);
    }

    /// @inheritdoc IERC3009Signature
    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes calldata signature
    ) external {
        if (to != msg.sender) revert ERC20InvalidReceiver(to);
        _checkSignature(
            from,
            keccak256(abi.encode(RECEIVE_WITH_AUTHORIZATION_TYPEHASH, from, to, value, validAfter, validBefore, nonce)),
            signature
        );
        _transferWithAuthorization(from, to, value, validAfter, validBefore, nonce);
    }

    /// @inheritdoc IERC3009Signature
    function cancelAuthorization(address authorizer, bytes32 nonce, bytes calldata signature) external {
        _checkSignature(authorizer, keccak256(abi.encode(CANCEL_AUTHORIZATION_TYPEHASH, authorizer, nonce)), signature);
        _cancelAuthorization(authorizer, nonce);
    }

    /// @inheritdoc IReferenceDollar
    function configureMinter(address minter, uint256 allowance) external onlyRole(DEFAULT_ADMIN_ROLE) {
        if (minter == address(0) || isFrozen(minter)) revert InvalidMinter(minter);
        if (_minters[minter].place == 0) {
            if (_minterList.length == MAX_MINTERS) revert TooManyMinters(MAX_MINTERS);
            _minterList.push(minter);
            _minters[minter].place = uint8(_minterList.length);
        }
        _minters[minter].allowance = allowance.toUint120();
        emit MinterConfigured(minter, allowance);
    }

    /// @inheritdoc IReferenceDollar
    function removeMinter(address minter) external onlyRole(DEFAULT_ADMIN_ROLE) {
        uint8 place = _minters[minter].place;
        if (place == 0) revert UnknownMinter(minter);
        address last = _minterList[_minterList.length - 1];
        _minterList[place - 1] = last;
        _minters[last].place = place;
        _minterList.pop();

        _retired += _minters[minter].minted;
        delete _minters[minter];
        emit MinterRemoved(minter);
    }

    /// @inheritdoc IReferenceDollar
    function freeze(address account) external onlyRole(FREEZER_ROLE) {
        if (isFrozen(account)) revert FreezeUnchanged(account, true);
        _accounts[account] |= FROZEN;
        emit Frozen(account);

        if (_minters[account].allowance != 0) {
            _minters[account].allowance = 0;
            emit MinterConfigured(account, 0);
        }
    }

    /// @inheritdoc IReferenceDollar
    function unfreeze(address account) external onlyRole(FREEZER_ROLE) {
        if (!isFrozen(account)) revert FreezeUnchanged(account, false);
        _accounts[account] &= ~FROZEN;
        emit Unfrozen(account);
    }

    /// @inheritdoc IReferenceDollar
    function pause() external onlyRole(PAUSER_ROLE) {
        _pause();
    }

    /// @inheritdoc IReferenceDollar
    function unpause() external onlyRole(PAUSER_ROLE) {
        _unpause();
    }

    /// @inheritdoc IReferenceDollar
    function isMemoUsed(address from, bytes32 memo) external view returns (bool) {
        return _memos[from][uint256(memo) >> 8] & (1 << (uint256(memo) & 0xff)) != 0;
    }

    /// @inheritdoc IReferenceDollar
    function minterAllowance(address minter) external view returns (uint256) {
        return _minters[minter].allowance;
    }

    /// @inheritdoc IReferenceDollar
    function minters() external view returns (address[] memory) {
        return _minterList;
    }

    /// @inheritdoc IReferenceDollar
    function isFrozen(address account) public view returns (bool) {
        return _accounts[account] & FROZEN != 0;
    }

    /// @inheritdoc IReferenceDollar
    function totalMinted() public view returns (uint256 minted) {
        minted = _retired;
        uint256 count = _minterList.length;
        for (uint256 i = 0; i < count; ++i) minted += _minters[_minterList[i]].minted;
    }

    /// @inheritdoc IReferenceDollar
    function totalBurnt() public view returns (uint256) {
        return _burnt;
    }

    /// @inheritdoc ERC20
    function totalSupply() public view override returns (uint256) {
        return totalMinted() - totalBurnt();
    }

    /// @inheritdoc ERC20
    function balanceOf(address account) public view override returns (uint256) {
        return _accounts[account] & ~FROZEN;
    }

    /// @inheritdoc ERC20
    function decimals() public pure override returns (uint8) {
        return 6;
    }

    /// @dev Moves balances for every mint, burn and transfer there is. What is minted is counted by its minter before.
    function _update(address from, address to, uint256 value) internal override whenNotPaused {
        if (from != address(0)) {
            uint256 balance = _active(from);
            if (balance < value) revert ERC20InsufficientBalance(from, balance, value);
            unchecked {
                _accounts[from] = balance - value;
            }
        }
        if (to == address(0)) {
            _burnt += value.toUint120();
        } else {
            unchecked {
                // All balances together are at most what the minters count, far below the bit of the freeze.
                _accounts[to] = _active(to) + value;
            }
        }
        emit Transfer(from, to, value);
    }

    /// @dev A frozen account cannot spend for others either.
    function _spendAllowance(address owner, address spender, uint256 value) internal override {
        _active(spender);
        super._spendAllowance(owner, spender, value);
    }

    function _useMemo(address from, uint256 amount, bytes32 memo) private {
        if (memo == 0) revert ZeroMemo();
        if (amount == 0) revert ZeroAmount();

        mapping(uint256 index => uint256 bits) storage words = _memos[from];
        uint256 index = uint256(memo) >> 8;
        uint256 bits = words[index];
        uint256 bit = 1 << (uint256(memo) & 0xff);
        if (bits & bit != 0) revert MemoAlreadyUsed(from, memo);
        words[index] = bits | bit;
    }

    /// @dev The balance of an account that is not frozen.
    function _active(address account) private view returns (uint256 balance) {
        balance = _accounts[account];
        if (balance & FROZEN != 0) revert AccountFrozen(account);
    }

    /// @dev ECDSA is tried first whether or not the signer has code: a delegated account (EIP-7702) has both.
    function _checkSignature(address signer, bytes32 structHash, bytes calldata signature) private view {
        bytes32 digest = _hashTypedDataV4(structHash);
        (address recovered, , ) = ECDSA.tryRecoverCalldata(digest, signature);
        if (recovered == signer && signer != address(0)) return;
        if (!SignatureChecker.isValidERC1271SignatureNowCalldata(signer, digest, signature)) {
            revert InvalidSignature(signer);
        }
    }
}
