import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { anyExpiry, anyPath, isDeepFrozen, pathsOf, reachOf, timeAt } from '../../test/support/grants.ts'
import { Failure } from '../base/failure.ts'
import { parseGrants } from './list.ts'

function refusal(input: unknown): Failure {
  try {
    parseGrants(input)
  } catch (error) {
    assert(error instanceof Failure)
    return error
  }
  return assert.fail('the list should be refused')
}

const at = (tick: number): string => timeAt(tick) ?? ''

test('an absent list means no grants, and so does an empty one [G-16]', () => {
  assert.deepEqual(parseGrants(undefined), [])
  assert.deepEqual(parseGrants([]), [])
})

test('anything that is not an array is refused [G-16]', () => {
  const others = [null, '', 'acme', 7, true, {}, { 0: 'acme', length: 1 }, new Map(), new Set(['acme']), () => []]
  for (const input of [...others, new Uint8Array(1), Object.create(Array.prototype)]) {
    const { code, message } = refusal(input)
    assert.deepEqual([code, message], ['grant.list_invalid', 'context must be a list of grants'])
  }
})

test('an entry is a path, or a path with the time it ends [G-04]', () => {
  assert.deepEqual(parseGrants(['acme', { path: 'acme/eu' }, { path: 'acme/us', expiresAt: at(1) }]), [
    { path: 'acme', expiresAt: null },
    { path: 'acme/eu', expiresAt: null },
    { path: 'acme/us', expiresAt: at(1) },
  ])
  assert.deepEqual(parseGrants([{ path: 'a', expiresAt: null }]), parseGrants(['a']))
})

test('one bad entry refuses the list, and the first bad one is named by its index [G-16]', () => {
  const cases: [entry: unknown, reason: string][] = [
    ['a b', 'whitespace'],
    ['', 'empty'],
    [null, 'type'],
    [undefined, 'type'],
    [7, 'type'],
    [{}, 'type'],
    [[], 'type'],
    [{ path: ['a'] }, 'type'],
    [{ path: 'a/' }, 'slash'],
    [Object.create({ path: 'a' }), 'type'],
    [['a'], 'unknown_member'],
    [new String('a'), 'unknown_member'],
    [{ path: 'a', expires_at: at(1) }, 'unknown_member'],
    [{ path: 'a', id: 'gr_1' }, 'unknown_member'],
    [{ path: ' ', why: '' }, 'unknown_member'],
  ]
  for (const [entry, reason] of cases) {
    const { code, data } = refusal(['a', 'b', entry, '/'])
    assert.deepEqual([code, data], ['grant.invalid', { reason, index: 2 }])
  }
  assert.deepEqual(refusal(new Array(1)).data, { reason: 'type', index: 0 })
  assert.deepEqual(refusal(['a'.repeat(513)]).data, { reason: 'too_long', index: 0 })
  assert.equal(refusal(['a'.repeat(513)]).code, 'grant.limit')
})

test('an expiry is null or a time in the one form we write [G-16]', () => {
  const bad = ['', 'soon', 0, 1_750_000_000_000, new Date(0), true, [at(1)], {}]
  const otherForms = ['2026-06-16', '2026-06-16T00:00:00Z', '2026-02-30T00:00:00.000Z', '2026-06-16T00:00:00.000+00:00']
  for (const expiresAt of [...bad, ...otherForms]) {
    const { code, message, data, help } = refusal([{ path: 'a', expiresAt }])
    assert.deepEqual(
      [code, message, data],
      ['grant.invalid', 'grant is not valid: expiry', { reason: 'expiry', index: 0 }],
    )
    assert.equal(help, '`expiresAt` is null or a UTC time with three decimals')
  }
  assert.equal(refusal([{ path: '*', expiresAt: 7 }]).data['reason'], 'wildcard')
  assert.equal(refusal([{ path: 'a', more: 1 }]).message, 'grant is not valid: unknown member')
  assert.equal(refusal([{ path: 'a', more: 1 }]).help, 'an entry has `path` and `expiresAt` alone')
})

test('a list holds at most 64 entries, counted as given [G-15]', () => {
  assert.equal(parseGrants(Array.from({ length: 64 }, (_, index) => `a${index}`)).length, 64)
  assert.equal(parseGrants(Array.from({ length: 64 }, () => 'a')).length, 1)
  for (const input of [Array.from({ length: 65 }, () => 'a'), new Array(2 ** 32 - 1)]) {
    const { code, message, data } = refusal(input)
    assert.deepEqual([code, message, data], ['grant.limit', 'grant list exceeds 64 entries', { reason: 'too_many' }])
  }
  const unclear = new Proxy(['a'], { get: (list, key) => (key === 'length' ? Number.NaN : Reflect.get(list, key)) })
  assert.equal(refusal(unclear).code, 'grant.limit')
})

test('equal paths become one entry, in the place of the first and with the earliest expiry [G-10]', () => {
  const list = [
    'b',
    { path: 'a', expiresAt: at(5) },
    'c',
    { path: 'a', expiresAt: at(3) },
    'a',
    { path: 'b', expiresAt: at(9) },
  ]
  assert.deepEqual(parseGrants(list), [
    { path: 'b', expiresAt: at(9) },
    { path: 'a', expiresAt: at(3) },
    { path: 'c', expiresAt: null },
  ])
})

test('only equal paths become one: not those of other case, and not one below another [G-10 G-18]', () => {
  assert.deepEqual(pathsOf(parseGrants(['a/b', 'a', 'A', 'a/b/c', 'a'])), ['a/b', 'a', 'A', 'a/b/c'])
})

test('a bad duplicate still refuses the list [G-10]', () => {
  assert.deepEqual(refusal(['a', { path: 'a', expiresAt: 'soon' }]).data, { reason: 'expiry', index: 1 })
  assert.deepEqual(refusal(['a', 'a ', 'a']).data, { reason: 'whitespace', index: 1 })
})

const entries = fc.array(fc.record({ path: anyPath, expiresAt: anyExpiry }), { maxLength: 12 })

test('merging keeps what is reached, the order of first places, and no expiry later than any given [G-10]', () => {
  fc.assert(
    fc.property(entries, (list) => {
      const parsed = parseGrants(list)
      assert.deepEqual(reachOf(pathsOf(parsed)), reachOf(pathsOf(list)))
      assert.deepEqual(pathsOf(parsed), [...new Set(pathsOf(list))])
      for (const { path, expiresAt } of parsed) {
        const given = list.filter((entry) => entry.path === path).map((entry) => entry.expiresAt ?? '9999')
        assert.equal(expiresAt ?? '9999', given.sort()[0])
      }
      assert.deepEqual(parseGrants(parsed), parsed)
    }),
  )
})

test('the list is deep-frozen and a copy: changing what was given changes nothing [G-17]', () => {
  const given = [{ path: 'acme/eu', expiresAt: at(1) }, 'acme/us']
  const parsed = parseGrants(given)
  const before = structuredClone(parsed)
  given.push('acme')
  Object.assign(given[0] as object, { path: 'acme', expiresAt: null })
  assert.deepEqual(parsed, before)
  assert(isDeepFrozen(parsed))
  assert(isDeepFrozen(parseGrants(undefined)))
  assert.throws(() => (parsed as string[] & unknown[]).push('acme'), TypeError)
})

test('every value is read once, in order, and all of them before the first is judged [G-17]', () => {
  const reads: string[] = []
  const entry = (name: string, path: string) =>
    Object.defineProperties(
      {},
      {
        path: { enumerable: true, get: () => (reads.push(`${name}.path`) > 0 ? path : '') },
        expiresAt: { enumerable: true, get: () => (reads.push(`${name}.expiresAt`) > 0 ? null : '') },
      },
    )
  const list = new Proxy([entry('0', 'a'), 'b', entry('2', 'a//b')], {
    get: (target, key) => {
      reads.push(String(key))
      return Reflect.get(target, key)
    },
  })
  assert.equal(refusal(list).data['index'], 2)
  assert.deepEqual(reads, ['length', '0', '0.path', '0.expiresAt', '1', '2', '2.path', '2.expiresAt'])
})

test('a list that answers well at first and badly afterwards has only its first answer [G-17]', () => {
  let asked = 0
  const shifty = {
    get path() {
      return asked++ === 0 ? 'acme/eu' : 'acme'
    },
  }
  const list = new Proxy(['x'], { get: (target, key) => (key === '0' ? shifty : Reflect.get(target, key)) })
  const [grant] = parseGrants(list)
  assert.deepEqual([grant, grant?.path, asked], [{ path: 'acme/eu', expiresAt: null }, 'acme/eu', 1])
})
