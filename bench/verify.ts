import { sha256 } from '../src/base/hash.ts'
import { makeBundle } from '../src/evidence/bundle.ts'
import { makeSeal } from '../src/evidence/seal.ts'
import { verifyBundle } from '../src/evidence/verify/verify.ts'
import { identityStatement, signerOf } from '../src/keys/signer.ts'
import type { EvidenceBundle } from '../src/model/evidence.ts'
import { type Bench, byTurns, type Row, rate } from './measure.ts'
import { draftOf } from './records.ts'

const events = 5_000

/** A whole bundle, every check, one thread. Beside it the least any verifier must do: hash each event's bytes once. */
const bench: Bench = async () => {
  const rows: Row[] = []
  for (const [bytes, least] of [
    [300, 120_000],
    [1600, 50_000],
  ] as const) {
    const bundle = bundleOf(bytes)
    const texts = bundle.events.map((event) => JSON.stringify(event))
    const ours = () => rate(events, () => verified(bundle))
    const peer = () => rate(events, () => texts.forEach(sha256))
    await ours()
    await peer()
    const measured = await byTurns(9, ours, peer)
    const goal = `≥ ${least.toLocaleString('en-US')} events/s`
    rows.push({
      name: `verify, ${bytes} B`,
      unit: 'events/s',
      peerName: 'SHA-256 of the same bytes',
      goal,
      ...measured,
      met: measured.ours >= least,
    })
  }
  return rows
}
export default bench

function verified(bundle: EvidenceBundle): void {
  const { valid, covered } = verifyBundle(bundle)
  if (!valid || covered !== 'yes') throw new Error('the bundle should be good')
}

function bundleOf(bytes: number): EvidenceBundle {
  const seal = makeSeal({ hostId: 'northlight', tenant: 'northlight' })
  const drafts = Array.from({ length: events }, () => draftOf(bytes, 1))
  const sealed = seal(drafts, { sequence: 0, tails: new Map() })
  const createdAt = '2026-06-16T16:00:00.000Z'
  const signer = signerOf(new Uint8Array(32).fill(1))
  const identity = identityStatement(signer, 'northlight', createdAt)
  const bundle = makeBundle({ hostId: 'northlight', events: sealed, createdAt, asOfSequence: events, identity }, signer)
  return JSON.parse(JSON.stringify(bundle)) as EvidenceBundle
}
