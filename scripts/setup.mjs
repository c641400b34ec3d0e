#!/usr/bin/env node
// Makes node_modules fit package-lock.json, on whatever Node of 20 or later the machine has, and
// returns at once when it fits already. With --check it only says whether it does. Uses built-ins
// only, because it runs before anything is installed.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const TURN_FOLDER = join(ROOT, '.setup-in-progress')
const LOG_FILE = join(ROOT, 'npm-install.log')
const TURN_WAIT_LIMIT_MS = 10 * 60_000
const ABANDONED_TURN_MS = 15_000

async function main() {
  const [major = 0] = process.versions.node.split('.').map(Number)
  if (major < 20) fail(`Node ${process.versions.node} is too old. Install Node 20 or later.`)
  if (isInstalled()) return
  if (process.argv.includes('--check'))
    fail('node_modules does not fit package-lock.json. Install what it wants: npm ci')
  await withTurn(async () => {
    if (!isInstalled()) await install()
  })
}

/**
 * True when everything that the lock file wants on this machine stands in node_modules in that
 * version.
 */
function isInstalled() {
  const wanted = readLock(join(ROOT, 'package-lock.json'))
  if (!wanted)
    fail('package-lock.json is missing or damaged. Restore it: git checkout package-lock.json')
  const found = readLock(join(ROOT, 'node_modules/.package-lock.json'))
  if (!found || !existsSync(join(ROOT, 'node_modules/.bin/node'))) return false
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === '') return true
    // What npm wrote down outlives packages that were removed, or never arrived.
    if (found[path]?.version === entry.version && existsSync(join(ROOT, path))) return true
    return entry.optional && !isForThisMachine(entry)
  })
}

function readLock(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages
  } catch {
    return undefined
  }
}

/**
 * Whether an optional package is a binary made for this machine. One that names no system only
 * serves others: npm may leave it out.
 */
function isForThisMachine({ os, cpu, libc }) {
  if (!(os || cpu)) return false
  return (
    allows(os, process.platform) && allows(cpu, process.arch) && allows(libc, libc && thisLibc())
  )
}

function allows(list, value) {
  return !list || list.includes(value)
}

function thisLibc() {
  return process.report.getReport().header.glibcVersionRuntime ? 'glibc' : 'musl'
}

/**
 * Two commands on a fresh clone at once must not install over each other: the second waits for the
 * first.
 */
async function withTurn(work) {
  const startedAt = Date.now()
  for (let told = false; !takeTurn(); told = true) {
    if (!told) console.error('Another command is installing the packages: waiting for it …')
    if (Date.now() - startedAt > TURN_WAIT_LIMIT_MS)
      fail(`Waited 10 minutes. Remove ${TURN_FOLDER} and try again.`)
    await sleep(500)
  }
  const heartbeat = setInterval(() => touch(), 1_000)
  try {
    await touch()
    await work()
  } finally {
    clearInterval(heartbeat)
    rmSync(TURN_FOLDER, { recursive: true, force: true })
  }
}

function takeTurn() {
  try {
    mkdirSync(TURN_FOLDER)
    return true
  } catch (error) {
    if (error.code !== 'EEXIST')
      fail(`Cannot write to ${ROOT} (${error.code}). Clone into a folder that you own.`)
  }
  // A turn whose heartbeat stopped belonged to a command that was killed.
  const age = Date.now() - (statSync(TURN_FOLDER, { throwIfNoEntry: false })?.mtimeMs ?? Date.now())
  if (age > ABANDONED_TURN_MS) rmSync(TURN_FOLDER, { recursive: true, force: true })
  return false
}

async function touch() {
  await writeFile(join(TURN_FOLDER, String(Date.now())), '').catch(() => {})
}

async function install() {
  const wanted = Object.values(readLock(join(ROOT, 'package-lock.json')))
  const total = wanted.filter((entry) => !entry.optional || isForThisMachine(entry)).length
  const startedAt = Date.now()
  const progress = showProgress(`Installing about ${total} packages, once`, startedAt)
  const { code, output } = await runInstall()
  progress.stop()
  if (code === 0 && isInstalled()) {
    console.error(`Installed in ${seconds(startedAt)} s.`)
    return
  }
  await writeFile(LOG_FILE, output).catch(() => {})
  const told = /^npm (?:error|ERR!) (?!code|A complete log)(.+)$/m.exec(output)
  const reason = told?.[1] ?? 'packages are missing after it'
  fail(
    `The install failed: ${reason.trim()} (npm ci, exit code ${code}). ` +
      'Its output is in npm-install.log. Check the network and the free disk space, then try again.',
  )
}

/**
 * Run by an older Node, npm would leave out the optional packages whose engines ask for a newer
 * one. So the newer Node comes first, into a folder of its own: npx would take a Node that it finds
 * in node_modules or in its cache, also where an install was ended before its binary was there.
 */
async function runInstall() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > 22 || (major === 22 && minor >= 18)) return runNpm(['ci'])
  const folder = join(TURN_FOLDER, 'node')
  mkdirSync(folder)
  await writeFile(join(folder, 'package.json'), '{}')
  const brought = await runNpm(['install', '--no-save', 'node@24'], { cwd: folder })
  if (brought.code !== 0) return brought
  const bin = join(folder, 'node_modules/.bin')
  return runNpm(['ci'], { env: { PATH: `${bin}${delimiter}${process.env.PATH}` } })
}

function runNpm(words, { cwd = ROOT, env = {} } = {}) {
  return new Promise((resolve) => {
    const child = spawn('npm', [...words, '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
      shell: process.platform === 'win32',
      env: { ...process.env, NODE_ENV: '', ...env },
    })
    let output = ''
    const collect = (chunk) => (output = (output + chunk).slice(-1_000_000))
    child.stdout.on('data', collect)
    child.stderr.on('data', collect)
    child.on('error', (error) => resolve({ code: 1, output: `npm error ${error.message}` }))
    child.on('close', (code) => resolve({ code: code ?? 1, output }))
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => child.kill(signal))
  })
}

function showProgress(text, startedAt) {
  const isTerminal = process.stderr.isTTY
  const write = () =>
    isTerminal
      ? process.stderr.write(`\r${text} … ${seconds(startedAt)} s `)
      : console.error(`${text} … ${seconds(startedAt)} s`)
  write()
  const timer = setInterval(write, isTerminal ? 200 : 10_000)
  return {
    stop() {
      clearInterval(timer)
      if (isTerminal) process.stderr.write('\r\u001b[K')
    },
  }
}

function seconds(startedAt) {
  return ((Date.now() - startedAt) / 1000).toFixed(0)
}

function fail(sentence) {
  throw new SetupError(sentence)
}

class SetupError extends Error {}

try {
  await main()
} catch (error) {
  console.error(error instanceof SetupError ? error.message : error)
  process.exitCode = 2
}
