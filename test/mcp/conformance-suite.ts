// Runs the public conformance suite of MCP, as it comes from its packages.

import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { projectRoot } from '../support/source.ts'
import type { Side } from './conformance-exceptions.ts'
import type { Check, Scenario } from './conformance-verdict.ts'

export interface Release {
  readonly version: string
  readonly program: string
  /** The revisions of the protocol that it knows and that we speak. */
  readonly revisions: readonly string[]
}

const release = (name: string, revisions: readonly string[]): Release => {
  const folder = join(projectRoot, 'node_modules', name)
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }
  return { version, program: join(folder, 'dist/index.js'), revisions }
}

export const releases: readonly Release[] = [
  release('@modelcontextprotocol/conformance', ['2025-11-25']),
  release('mcp-conformance-next', ['2025-11-25', '2026-07-28']),
]

/** All that a release can check, of both sides. */
export async function scenariosOf({ program }: Release): Promise<readonly Scenario[]> {
  let side: Side | undefined
  return (await run(program, ['list'])).flatMap((line): Scenario[] => {
    const [, heading] = /^(Server|Client|Authorization)\b.*scenarios/.exec(line) ?? []
    if (heading !== undefined) side = heading.toLowerCase() as Side
    const [, name, revisions = ''] = /^ {2}- (\S+) \[(.*)\]$/.exec(line) ?? []
    return name === undefined || side === undefined ? [] : [{ side, name, revisions: revisions.split(',') }]
  })
}

export interface Target {
  readonly revision: string
  /** One scenario; all of the revision unless given. */
  readonly scenario?: string
  readonly signal?: AbortSignal
}

type Results = ReadonlyMap<string, readonly Check[]>

/** The checks of a server at this address, by scenario. */
export const checkServer = (from: Release, url: string, target: Target): Promise<Results> =>
  checked(from, ['server', '--url', url, ...(target.scenario === undefined ? ['--suite', 'all'] : [])], target)

/** The checks of our client. */
export const checkClient = (from: Release, target: Target & { readonly scenario: string }): Promise<Results> =>
  checked(from, ['client', '--command', 'node test/mcp/conformance-client.ts'], target)

async function checked({ program }: Release, args: readonly string[], target: Target): Promise<Results> {
  const { revision, scenario, signal } = target
  const folder = mkdtempSync(join(tmpdir(), 'ambit-conformance-'))
  try {
    const only = scenario === undefined ? [] : ['--scenario', scenario]
    await run(program, [...args, ...only, '--spec-version', revision, '-o', folder], signal)
    return resultsIn(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Each scenario has a folder, with its name and the time. */
function resultsIn(folder: string): Results {
  const found = readdirSync(folder).filter((name) => existsSync(join(folder, name, 'checks.json')))
  return new Map(
    found.map((name) => [
      name.replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, '').replace(/^server-/, ''),
      JSON.parse(readFileSync(join(folder, name, 'checks.json'), 'utf8')) as Check[],
    ]),
  )
}

/** The lines it prints. How it ends says no more than its checks do. */
async function run(program: string, args: readonly string[], signal?: AbortSignal): Promise<readonly string[]> {
  const child = spawn(process.execPath, [program, ...args], {
    cwd: projectRoot,
    // The suite starts our client by name: with the Node that runs this.
    env: { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}` },
    stdio: ['ignore', 'pipe', 'ignore'],
    ...(signal && { signal }),
  })
  const ended = new Promise<void>((resolve, reject) => {
    child.once('close', () => resolve())
    child.once('error', reject)
  })
  const [printed] = await Promise.all([text(child.stdout), ended])
  return printed.split('\n')
}
