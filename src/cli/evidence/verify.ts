import { InvalidArgumentError, Option } from 'commander'
import type { Json } from '../../base/canonical.ts'
import { Failure, quote } from '../../base/failure.ts'
import { readJson } from '../../base/json.ts'
import { limits } from '../../base/limits.ts'
import { tornMark } from '../../base/lines.ts'
import { defined } from '../../base/object.ts'
import type { Pin } from '../../evidence/verify/check-signature.ts'
import { isRunExport, type RunExportReport, verifyRunExport } from '../../evidence/verify/run-export.ts'
import { type BundleReport, type VerifyOptions, verifyBundle } from '../../evidence/verify/verify.ts'
import { publicKey, type Tier } from '../../model/evidence.ts'
import { parseAs } from '../../model/parse.ts'
import { identityDocument } from '../../model/wire/host.ts'
import { jsonIn, readInput, readJsonInput } from '../terminal/files.ts'
import { found, type Io, printJson, progress, type Register } from '../terminal/io.ts'
import { printExportReport, printReport } from './report.ts'

type Report = BundleReport | RunExportReport

interface Options {
  readonly pin?: readonly Pin[]
  readonly identity?: string
  readonly head?: string
  readonly tier: Tier
  readonly json?: boolean
}

export default ((command, io) => {
  command
    .argument(
      '<bundle>',
      'a file written by `ambit evidence export`, with `--records` or without, or by any host compatible with CHP; - for standard input',
    )
    .option(
      '--pin <key>',
      'a public key you trust, whole, or host=key to trust it for one host; may be given several times; without one the bundle is held against its own key',
      pinIn,
    )
    .option(
      '--identity <file>',
      "the host's identity document: key rotations to follow from a pin, and keys that were revoked",
    )
    .option('--head <file>', 'a signed head, or a file of them: finds an export from a store that was cut')
    .addOption(
      new Option('--tier <tier>', 'the lowest tier to accept').choices(['signed', 'hash-chain']).default('signed'),
    )
    .option('--json', 'print JSON for programs')
    .addHelpText(
      'after',
      '\nNeeds no store, no key and no network. Exit 0: good. 1: not good, and why. 2: could not look.',
    )
    .action(async (path: string, options: Options) => {
      const bytes = path === '-' ? await piped(io) : readInput(io, path)
      const report = verifyFile(io, bytes, options)
      if (options.json) printJson(io, report)
      else if ('bundles' in report) printExportReport(io, report)
      else printReport(io, report)
      if (!report.valid) found(io)
    })
}) satisfies Register

async function piped(io: Io): Promise<Buffer> {
  const text = await io.stdin(limits.bundleBytesMax)
  if (text === undefined) throw new Failure('json.invalid', 'nothing is on standard input')
  return Buffer.from(text)
}

function verifyFile(io: Io, bytes: Buffer, options: Options): Report {
  const { tier, pin: pins, identity, head } = options
  const trust: VerifyOptions = {
    ...defined({ tier, pins }),
    ...(identity !== undefined && identityIn(io, identity)),
    ...(head !== undefined && { checkpoint: { heads: headsIn(io, head) } }),
  }
  progress(io, `checking ${(bytes.length / 1e6).toFixed(1)} MB`)
  const report = verifyBytes(bytes, trust)
  progress(io)
  return report
}

/** A text that the strict reader refuses is no bundle: the report says so, with the place. */
function verifyBytes(bytes: Buffer, trust: VerifyOptions): Report {
  try {
    const value = readJson(bytes, { bytesMax: limits.bundleBytesMax })
    return isRunExport(value) ? verifyRunExport(value, trust) : verifyBundle(value, trust)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const { message } = error
    const report = verifyBundle(undefined)
    const checks = report.checks.map((check) => (check.name === 'shape' ? { ...check, message } : check))
    return { ...report, checks, first: { check: 'shape', at: '', message } }
  }
}

/** The rotations and revoked keys of an identity document. What it says of its own key proves nothing. */
function identityIn(io: Io, path: string): Pick<VerifyOptions, 'rotations' | 'revoked'> {
  const { key_history = [], revoked_keys = [] } = parseAs(identityDocument, readJsonInput(io, path), 'identity')
  return { rotations: key_history, revoked: revoked_keys }
}

/** One head, or a file of them, a line each. What a crash tore is the last line or marked; no other may be broken. */
function headsIn(io: Io, path: string): readonly Json[] {
  const text = readInput(io, path).toString('utf8')
  const lines = isJson(text) ? [text] : text.split('\n')
  const heads = lines.flatMap((line, index) => {
    if (isJson(line)) return [readJson(line)]
    if (index === lines.length - 1 || line.trim() === '' || line.endsWith(tornMark)) return []
    const help = 'it could be the head that proves a cut: get the file again from where it was kept'
    throw new Failure('json.invalid', `${quote(path)}: line ${index + 1} is no head`, {}, help)
  })
  return heads.length > 0 ? heads : [jsonIn(quote(path), text)]
}

function isJson(text: string): boolean {
  try {
    readJson(text)
    return true
  } catch {
    return false
  }
}

/** A key id says too little: another key can be made to have it. The key has one length, so a host may hold any `=`. */
function pinIn(text: string, before: readonly Pin[] = []): readonly Pin[] {
  const key = text.slice(-keyChars)
  const host = text.slice(0, -keyChars)
  if (publicKey.safeParse(key).success) {
    if (host === '') return [...before, key]
    if (host.endsWith('=') && host.length > 1) return [...before, { host: host.slice(0, -1), key }]
  }
  throw new InvalidArgumentError('write the whole public key, 44 characters that end with =, or host=key.')
}

const keyChars = 44
