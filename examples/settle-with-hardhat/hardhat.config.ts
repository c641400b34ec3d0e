import hardhatEthers from '@nomicfoundation/hardhat-ethers'
import { defineConfig } from 'hardhat/config'

export default defineConfig({ plugins: [hardhatEthers] })
