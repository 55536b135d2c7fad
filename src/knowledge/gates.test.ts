import assert from 'node:assert/strict'
import { test } from 'vitest'
import { noPermissions, packOf } from '../../test/support/knowledge.ts'
import { packStatus, packTrust } from '../model/knowledge/knowledge.ts'
import { refusalOf, statusWarning } from './gates.ts'

const codeOf = (...args: Parameters<typeof refusalOf>): string => refusalOf(...args)?.code ?? 'used'
const yes = () => true

test('each status is used on its own, after confirmation, or not at all [K-26 K-51]', () => {
  const table = packStatus.options.map((status) => {
    const pack = packOf({ status })
    return [
      status,
      codeOf(pack, 'found', noPermissions),
      codeOf(pack, 'found', { ...noPermissions, confirmed: yes }),
      codeOf(pack, 'named', noPermissions),
      codeOf(pack, 'named', { ...noPermissions, confirmed: yes }),
    ]
  })
  assert.deepEqual(table, [
    ['draft', 'confirm-needed', 'confirm-needed', 'confirm-needed', 'used'],
    ['ready', 'used', 'used', 'used', 'used'],
    ['needs-review', 'used', 'used', 'used', 'used'],
    ['stale', 'used', 'used', 'used', 'used'],
    ['disputed', 'confirm-needed', 'confirm-needed', 'confirm-needed', 'used'],
    ['archived', 'confirm-needed', 'confirm-needed', 'confirm-needed', 'used'],
  ])
})

test('what is not trusted waits for approval, and approval does not raise its trust [K-27 K-48]', () => {
  const table = packTrust.options.map((effective) => {
    const pack = packOf({ effective })
    return [effective, codeOf(pack, 'named', noPermissions), codeOf(pack, 'named', { ...noPermissions, approved: yes })]
  })
  assert.deepEqual(table, [
    ['unreviewed', 'approval-needed', 'used'],
    ['external', 'approval-needed', 'used'],
    ['user-confirmed', 'used', 'used'],
    ['official', 'used', 'used'],
  ])
})

test('packs are switched by name, id or scope, and off wins over on and over being named [K-42 K-45]', () => {
  const pack = packOf({ name: 'pumps', in: 'user', path: 'a/pumps' })
  for (const word of ['pumps', 'user:a/pumps', 'user']) {
    assert.equal(codeOf(pack, 'named', { ...noPermissions, disable: [word] }), 'pack-disabled')
    assert.equal(codeOf(pack, 'named', { ...noPermissions, enable: [[word]] }), 'used')
    assert.equal(codeOf(pack, 'named', { ...noPermissions, enable: [[word]], disable: ['pumps'] }), 'pack-disabled')
  }
  assert.equal(codeOf(pack, 'named', { ...noPermissions, enable: [['pumps'], ['valves']] }), 'pack-disabled')
})

test('what is not ready says so wherever it is used [K-52]', () => {
  assert.equal(statusWarning(packOf()), undefined)
  assert.deepEqual(
    packStatus.options
      .filter((status) => status !== 'ready')
      .map((status) => {
        const warning = statusWarning(packOf({ status }))
        return [warning?.code, warning?.severity]
      }),
    [
      ['status-draft', 'warning'],
      ['status-needs-review', 'warning'],
      ['status-stale', 'warning'],
      ['status-disputed', 'error'],
      ['status-archived', 'warning'],
    ],
  )
})
