import assert from 'node:assert/strict'
import { test, vi } from 'vitest'
import { verifySignature } from '../../src/base/ed25519.ts'
import { signerOf } from '../../src/keys/signer.ts'
import { issueClaim, verifyClaim } from '../../src/runtime/contract/claims.ts'

vi.mock('../../src/base/ed25519.ts', async (original) => {
  const real = await original<typeof import('../../src/base/ed25519.ts')>()
  return { ...real, verifySignature: vi.fn(real.verifySignature) }
})

test('the signature of a claim is worked out once; whether it is for this run and this time, at every call [R-61]', () => {
  const signer = signerOf(new Uint8Array(32).fill(7))
  const agent_urn = 'agent:contextos/desk@1.0.0'
  const facts = {
    ...{ run_id: 'run_01a1f46e00000001', tenant_id: 'acme', agent_urn, keys: [signer.publicKey], nowMs: 1_000 },
    chain: [
      { kind: 'user' as const, id: 'usr_ada' },
      { kind: 'agent' as const, id: agent_urn },
    ],
  }
  const claim = issueClaim({ ...facts, signer, issuer: 'acme', ttlMs: 5_000, scopes: ['tools:read'] })
  for (let call = 0; call < 3; call++) verifyClaim(claim, facts)
  assert.equal(vi.mocked(verifySignature).mock.calls.length, 1)
  const reason = (change: Partial<typeof facts>, given: object = claim): unknown => {
    try {
      return verifyClaim(given, { ...facts, ...change }) && 'taken'
    } catch (error) {
      return (error as { data: { reason: string } }).data.reason
    }
  }
  assert.equal(reason({ nowMs: 6_000 }), 'expired')
  assert.equal(reason({ nowMs: 0 }), 'not_yet_valid')
  assert.equal(reason({ run_id: 'run_01a1f46e00000002' }), 'run')
  assert.equal(reason({ tenant_id: 'other' }), 'tenant')
  assert.equal(reason({ agent_urn: 'agent:contextos/desk@1.0.1' }), 'subject')
  assert.equal(reason({ chain: facts.chain.toReversed() }), 'chain')
  assert.equal(reason({ keys: [] }), 'kid')
  // A signature that is wrong is not remembered as one that was right.
  for (let call = 0; call < 2; call++) assert.equal(reason({}, { ...claim, signature: 'AAAA' }), 'signature')
})
