// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Pays an order once, and leaves one event that says so
/// @notice Every payment carries an order reference of 32 bytes. A reference is settled at most once per authority, so
/// a retry may cost gas but never pays twice. The contract has no owner, no pause and no upgrade, and it holds nothing
/// between two transactions.
/// @dev The authority is the account whose word makes the payment due: the payer in most calls, the operator in
/// {settleWithIntent}. References of different authorities never collide, so nobody can burn the reference of another.
///
/// The reference is its own index into a bitmap: the upper 31 bytes name a storage word, the last byte a bit in it. 256
/// references that differ only in the last byte share one word, and all but the first of them cost a third.
///
/// A refund is a settlement back to the payer under a reference of its own.
///
/// @dev Warning: native coin that is forced in (by `selfdestruct` or as a block reward) cannot be told from any other
/// and stays for ever; no call ever pays it out. The same goes for tokens that somebody sends here by mistake.
interface ISettlement {
    /// @notice A payment that an operator asks for, and that anybody may pay once.
    /// @param operator The account that signs, by ECDSA or by ERC-1271. It is part of what is signed, so that one key
    /// behind two wallets cannot serve a signature for the one as a signature for the other.
    /// @param orderReference The order's identity, once-only under the operator.
    /// @param payee Who receives.
    /// @param token What is paid: an ERC-20, or zero for native coin.
    /// @param amount How much is paid, exactly.
    /// @param deadline The last block timestamp at which the intent can be paid.
    struct Intent {
        address operator;
        bytes32 orderReference;
        address payee;
        address token;
        uint256 amount;
        uint256 deadline;
    }

    /// @notice A permit of ERC-2612 by the caller, for this contract and exactly the amount paid.
    /// @param deadline The last block timestamp at which the permit holds.
    /// @param v The signature.
    /// @param r The signature.
    /// @param s The signature.
    struct Permit {
        uint256 deadline;
        uint8 v;
        bytes32 r;
        bytes32 s;
    }

    /// @notice An order was paid, exactly, just now.
    /// @dev The event is logged before the money moves, in the same call: where it stands, the money moved too.
    /// @param orderReference The order's identity.
    /// @param payer Who paid.
    /// @param payee Who received.
    /// @param token What was paid: an ERC-20, or zero for native coin.
    /// @param amount How much arrived at the payee.
    event Settled(
        bytes32 indexed orderReference,
        address indexed payer,
        address indexed payee,
        address token,
        uint256 amount
    );

    /// @notice One item of a partial batch was not paid; its value went back to the payer, or never left.
    /// @param orderReference The order's identity, still unpaid by this item.
    /// @param payer Who wanted to pay.
    /// @param payee Who would have received.
    /// @param amount How much was not paid.
    /// @param reason The selector of the error that stopped the item.
    event SettlementFailed(
        bytes32 indexed orderReference,
        address indexed payer,
        address indexed payee,
        uint256 amount,
        bytes4 reason
    );

    /// @notice Thrown when the reference is zero, which no order has.
    error ZeroReference();

    /// @notice Thrown when the amount is zero.
    error ZeroAmount(bytes32 orderReference);

    /// @notice Thrown when the payee is zero or this contract, where the money would be lost.
    error InvalidPayee(bytes32 orderReference, address payee);

    /// @notice Thrown when this authority has settled this reference before.
    error AlreadySettled(address authority, bytes32 orderReference);

    /// @notice Thrown when the transaction carries `sent`, and the payments add up to `expected`.
    error WrongValue(uint256 sent, uint256 expected);

    /// @notice Thrown when the lists of a batch differ in length.
    error LengthMismatch(uint256 orderReferences, uint256 payees, uint256 amounts);

    /// @notice Thrown when a batch has no item, or more than `maximum`.
    error InvalidBatchSize(uint256 size, uint256 maximum);

    /// @notice Thrown when the payee does not accept the coin.
    error PaymentRefused(address payee, uint256 amount);

    /// @notice Thrown when the token does not move `amount` to `payee`. `reason` is what the token returned.
    error TransferRefused(address payee, uint256 amount, bytes reason);

    /// @notice Thrown when the payer does not accept the rest of a partial batch.
    error ReturnRefused(address payer, uint256 amount);

    /// @notice Thrown when a partial batch has less than `required` gas left before an item.
    error InsufficientGas(uint256 available, uint256 required);

    /// @notice Thrown when anyone but this contract calls the function.
    error OnlySelf(address caller);

    /// @notice Thrown when there is no token at this address, or it does not answer as a token does.
    error InvalidToken(address token);

    /// @notice Thrown when the token reports `expected`, and the balance of `account` grew by `delivered`.
    error WrongDelivery(address token, address account, uint256 expected, uint256 delivered);

    /// @notice Thrown when the token refuses the permit of `payer`, and its allowance is less than the payment.
    error PermitRefused(address token, address payer, uint256 allowance, uint256 amount);

    /// @notice Thrown when the intent is paid after its `deadline`.
    error IntentExpired(uint256 deadline, uint256 timestamp);

    /// @notice Thrown when the signature is not `expected`'s for this payment, this contract and this chain.
    /// @dev `recovered` is zero where the signature has no ECDSA form at all, or the malleable one.
    error InvalidSignature(address expected, address recovered);

    /// @notice Pays the whole value of the call to `payee`, once per caller and reference.
    /// @dev The payee is called with all the gas there is. What it returns is not read.
    /// @param orderReference The order's identity, not zero.
    /// @param payee Who receives: neither zero nor this contract.
    function settle(bytes32 orderReference, address payee) external payable;

    /// @notice Pays `amount` of an ERC-20 from the caller to `payee`, once per caller and reference.
    /// @dev Needs an allowance. The payment holds only if the balance of the payee grows by exactly `amount`, so tokens
    /// that take a fee are refused, and so is a payment to oneself.
    /// @dev Warning: USDC lowers even an infinite allowance, and an issuer may freeze this contract, the payer or the
    /// payee; then the call reverts.
    /// @param orderReference The order's identity, not zero.
    /// @param token The ERC-20.
    /// @param payee Who receives: neither zero nor this contract.
    /// @param amount How much, not zero.
    function settleToken(bytes32 orderReference, address token, address payee, uint256 amount) external;

    /// @notice Pays a list of orders in native coin: all of them, or none.
    /// @dev The value of the call must be the sum of the amounts. See {MAX_BATCH_SIZE}.
    /// @param orderReferences The orders' identities. Ascending neighbours are the cheapest.
    /// @param payees Who receives, item by item.
    /// @param amounts How much, item by item.
    function settleBatch(
        bytes32[] calldata orderReferences,
        address[] calldata payees,
        uint256[] calldata amounts
    ) external payable;

    /// @notice Pays a list of orders in one ERC-20: all of them, or none.
    /// @dev Each delivery is checked as in {settleToken}, and {TransferRefused} names the item that the token refuses.
    /// @param orderReferences The orders' identities. Ascending neighbours are the cheapest.
    /// @param token The ERC-20 of every item.
    /// @param payees Who receives, item by item.
    /// @param amounts How much, item by item.
    function settleTokenBatch(
        bytes32[] calldata orderReferences,
        address token,
        address[] calldata payees,
        uint256[] calldata amounts
    ) external;

    /// @notice Pays a list of orders in native coin: whatever can be paid.
    /// @dev An item that fails for any reason changes nothing but to log {SettlementFailed}, and what it would have
    /// paid goes back to the caller at the end. The sum returned is counted, never read from the balance, so money that
    /// lies here by accident or by a call further out stays where it is.
    ///
    /// A payee gets 100,000 gas, no more and no less: the call reverts as a whole with {InsufficientGas} rather than
    /// let an item fail for want of gas. Each item therefore needs 300,000 gas to be left, though it uses a twentieth.
    ///
    /// The value of the call must be the sum of all amounts, those of failing items too.
    /// @param orderReferences The orders' identities. Ascending neighbours are the cheapest.
    /// @param payees Who receives, item by item.
    /// @param amounts How much, item by item.
    /// @return paid The sum of what was paid; the rest of the value was returned.
    function settleBatchPartial(
        bytes32[] calldata orderReferences,
        address[] calldata payees,
        uint256[] calldata amounts
    ) external payable returns (uint256 paid);

    /// @notice Pays a list of orders in one ERC-20: whatever can be paid.
    /// @dev An item that fails for any reason changes nothing but to log {SettlementFailed}, and takes nothing of the
    /// allowance. Each delivery is checked as in {settleToken}, and each item needs 300,000 gas to be left, as in
    /// {settleBatchPartial}.
    /// @dev Warning: a token that needs more than that may let an item fail for want of gas.
    /// @param orderReferences The orders' identities. Ascending neighbours are the cheapest.
    /// @param token The ERC-20 of every item.
    /// @param payees Who receives, item by item.
    /// @param amounts How much, item by item.
    /// @return paid The sum of what was paid.
    function settleTokenBatchPartial(
        bytes32[] calldata orderReferences,
        address token,
        address[] calldata payees,
        uint256[] calldata amounts
    ) external returns (uint256 paid);

    /// @notice Pays one item of a partial batch, which calls it on this contract itself.
    /// @dev A call of its own, so that a failing item takes its bit and its event back with it. Refuses anybody else.
    ///
    /// Behind the selector stand the payer, the token, the reference, the payee and the amount, a word each. They are
    /// no parameters, and the call is payable though nothing is sent with it, because the checks that the compiler
    /// would add cost each item some gas, and the only caller has made them.
    function payOneItemOfBatch() external payable;

    /// @notice Pays what an operator asked for by signature, once per operator and reference.
    /// @dev The caller is the payer. The signature is EIP-712 typed data under the domain that `eip712Domain` tells
    /// (ERC-5267), of ECDSA by the operator's key or of ERC-1271 by the operator's contract. ECDSA is tried first
    /// whether or not the operator has code, since a delegated account (EIP-7702) has both a key and code.
    ///
    /// For native coin the value of the call must be the amount of the intent; for a token it must be zero.
    /// @param intent What is to be paid.
    /// @param signature The operator's signature of it.
    function settleWithIntent(Intent calldata intent, bytes calldata signature) external payable;

    /// @notice As {settleToken}, with the caller's ERC-2612 permit for exactly `amount` in place of an approval.
    /// @dev A permit can be used by anybody who sees it. If it fails, the payment goes on where the allowance covers
    /// `amount` all the same, and reverts with {PermitRefused} where it does not.
    /// @dev Warning: where the caller has code, USDC (FiatToken 2.2) takes a permit only by ERC-1271. An account that
    /// delegates its code (EIP-7702) to a contract without ERC-1271 therefore cannot pay by permit there, though its
    /// key signs: {PermitRefused} says so in a simulation. It pays by an approval and {settleToken}.
    /// @param orderReference The order's identity, not zero.
    /// @param token The ERC-20.
    /// @param payee Who receives: neither zero nor this contract.
    /// @param amount How much, not zero.
    /// @param permit The permit.
    function settleWithPermit(
        bytes32 orderReference,
        address token,
        address payee,
        uint256 amount,
        Permit calldata permit
    ) external;

    /// @notice Pays by the payer's ERC-3009 authorization, which anybody may submit, once per payer and reference.
    /// @dev What the payer signs is `ReceiveWithAuthorization` with this contract as `to` and {authorizationNonce} as
    /// nonce. The nonce binds the reference, the token, the payee, this contract and the chain, so whoever submits can
    /// change none of them. The tokens pass through this contract within the call.
    ///
    /// The signature is checked here before the token is asked, against the token's own domain: a token of bad faith
    /// that accepts anything could otherwise burn the references of strangers.
    /// @dev Warning: this contract takes the signature of a key whether or not the payer has code, but the token
    /// decides too. Where the payer has code, USDC (FiatToken 2.2) asks it by ERC-1271, with either overload. An
    /// account that delegates its code (EIP-7702) to a contract without ERC-1271 therefore cannot pay by signature
    /// there: the call reverts with the error of the token, "FiatTokenV2: invalid signature". Simulate it first.
    /// @param orderReference The order's identity, not zero.
    /// @param token The ERC-20: it must offer ERC-3009 and `DOMAIN_SEPARATOR`.
    /// @param payee Who receives: neither zero nor this contract.
    /// @param amount How much, not zero.
    /// @param payer Who pays and who signed, by ECDSA or by ERC-1271.
    /// @param validAfter The authorization holds after this time.
    /// @param validBefore The authorization holds before this time.
    /// @param signature 65 bytes of r, s and v, or whatever the payer's ERC-1271 wallet takes.
    function settleWithAuthorization(
        bytes32 orderReference,
        address token,
        address payee,
        uint256 amount,
        address payer,
        uint256 validAfter,
        uint256 validBefore,
        bytes calldata signature
    ) external;

    /// @notice Whether `authority` has settled `orderReference`.
    /// @param authority The payer, or the operator of an intent.
    /// @param orderReference The order's identity.
    function isSettled(address authority, bytes32 orderReference) external view returns (bool);

    /// @notice {isSettled} for a list of references of one authority.
    /// @param authority The payer, or the operator of intents.
    /// @param orderReferences The orders' identities.
    /// @return settled One answer for each reference, in their order.
    function areSettled(
        address authority,
        bytes32[] calldata orderReferences
    ) external view returns (bool[] memory settled);

    /// @notice The ERC-3009 nonce under which this payment must be authorized.
    /// @param orderReference The order's identity.
    /// @param token The ERC-20.
    /// @param payee Who receives.
    function authorizationNonce(bytes32 orderReference, address token, address payee) external view returns (bytes32);

    /// @notice The version of this contract and of its EIP-712 domain.
    function version() external view returns (string memory);

    /// @notice How many items a batch may have. A thousand neighbours in native coin fit below the cap of 16,777,216
    /// gas per transaction; items of a token, or that write new storage or create accounts, reach that cap sooner.
    // solhint-disable-next-line func-name-mixedcase
    function MAX_BATCH_SIZE() external view returns (uint256);
}
