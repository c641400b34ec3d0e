// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @dev The cheatcodes that these tests use, as Hardhat's simulator offers them.
interface Vm {
    struct Log {
        bytes32[] topics;
        bytes data;
        address emitter;
    }

    function addr(uint256 key) external pure returns (address);
    function assertEq(uint256 actual, uint256 expected, string calldata message) external pure;
    function assertEq(address actual, address expected, string calldata message) external pure;
    function assertEq(bytes32 actual, bytes32 expected, string calldata message) external pure;
    function assertEq(string calldata actual, string calldata expected, string calldata message) external pure;
    function assertTrue(bool condition, string calldata message) external pure;
    function assume(bool condition) external pure;
    function chainId(uint256 id) external;
    function deal(address account, uint256 balance) external;
    function etch(address account, bytes calldata code) external;
    function expectEmit(bool topic1, bool topic2, bool topic3, bool data, address emitter) external;
    function expectRevert(bytes calldata reason) external;
    function expectRevert() external;
    function getCode(string calldata artifact) external view returns (bytes memory);
    function getRecordedLogs() external returns (Log[] memory);
    function prank(address caller) external;
    function recordLogs() external;
    function sign(uint256 key, bytes32 digest) external pure returns (uint8 v, bytes32 r, bytes32 s);
    function startPrank(address caller) external;
    function stopPrank() external;
    function warp(uint256 timestamp) external;
}

/// @dev What every test contract starts from.
abstract contract Test {
    Vm internal constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

    /// @dev Where a Solidity test of the invariant kind looks for what to call.
    address[] private _targets;

    function targetContracts() external view returns (address[] memory) {
        return _targets;
    }

    function target(address handler) internal {
        _targets.push(handler);
    }

    /// @dev Deploys what the build has made, so that tests run on the very code that is deployed.
    function deployed(string memory artifact, bytes memory arguments) internal returns (address instance) {
        bytes memory code = abi.encodePacked(vm.getCode(artifact), arguments);
        assembly ("memory-safe") {
            instance := create(0, add(code, 0x20), mload(code))
        }
        vm.assertTrue(instance != address(0), "deployed");
    }

    /// @dev Brings a fuzzed number between two bounds, both included.
    function between(uint256 number, uint256 low, uint256 high) internal pure returns (uint256) {
        return low + (number % (high - low + 1));
    }

    function eq(uint256 actual, uint256 expected, string memory message) internal pure {
        vm.assertEq(actual, expected, message);
    }

    function yes(bool condition, string memory message) internal pure {
        vm.assertTrue(condition, message);
    }

    function no(bool condition, string memory message) internal pure {
        vm.assertTrue(!condition, message);
    }
}
