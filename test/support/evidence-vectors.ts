import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type HeaderTexts, headerTexts } from '../../src/evidence/event.ts'
import type { Verified } from '../../src/evidence/statements/statement.ts'
import { type BundleReport, verifyBundle } from '../../src/evidence/verify/verify.ts'
import { dataFolder } from './data.ts'
import { signerOf } from './evidence.ts'
import { tamperings } from './evidence-tamper.ts'

// biome-ignore lint/suspicious/noExplicitAny: each vector has a form of its own, and what it holds is asserted
export type Vector = any

export const folder = dataFolder('chp-vectors')

export const read = (file: string): Vector => JSON.parse(readFileSync(join(folder ?? '', file), 'utf8'))

/** What the protocol's hash leaves open in an event; a sealed payload is not looked into. */
const unhashed =
  /^events\/\d+\/(subject|assurance|capability_version|denial|error|redacted|sequence|correlation\/(?!correlation_id)|payload\/chp_sealed)/

export const reportOf = (bundle: unknown): BundleReport => verifyBundle(bundle)

export const verdictOf = (report: BundleReport, name: string): string | undefined =>
  report.checks.find((check) => check.name === name)?.verdict

export const checkOf = (verified: Verified<unknown>): string => (verified.ok ? 'ok' : verified.check)

export const expectedOf = (cases: Vector[], member: string): unknown[] => cases.map((item) => item[member])

/** A bundle of another host: valid as it is, not covered, and invalid after any change its hashes or signatures see. */
export function sweepBundle(bundle: Vector, covered: BundleReport['covered'] = 'no'): void {
  const report = reportOf(bundle)
  assert.deepEqual([report.valid, report.covered, report.first], [true, covered, null])
  const key = bundle.public_key
  assert.equal(verifyBundle(bundle, { pins: [key] }).valid, true)
  assert.equal(verifyBundle(bundle, { pins: [signerOf(7).publicKey] }).first?.check, 'pin')
  assert.equal(reportOf({ ...bundle, events: bundle.events.toReversed() }).valid, false)
  sweep(bundle, (value) => (verifyBundle(value).valid ? { ok: true, value } : refusal), unhashed)
}

const refusal = { ok: false, check: 'bundle', message: '' } as const

/** Good as it is, refused after any change in one place, but for the places the protocol leaves open. */
export function sweep(statement: Vector, verify: (value: Vector) => Verified<unknown>, open = /^$/): void {
  const verified = verify(statement)
  assert.equal(verified.ok, true, verified.ok ? '' : verified.message)
  for (const { kind, path, value } of tamperings(statement)) {
    if (kind !== 'change' || open.test(path.join('/'))) continue
    assert.equal(verify(value).ok, false, `changed ${path.join('/')}`)
  }
}

export const headerOf = (event: Vector, prevHash: string | null): HeaderTexts =>
  headerTexts(event, event.host_id, prevHash)

export const bareMandate = (mandate: Vector) => ({
  mandate_id: 'mnd_sub',
  delegate_id: mandate.delegate_id,
  scope: mandate.scope,
  valid_from: mandate.valid_from,
  valid_until: mandate.valid_until,
  created_at: mandate.created_at,
  parent: mandate.parent,
})
