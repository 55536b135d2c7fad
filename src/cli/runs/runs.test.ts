import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { type AgentDesk, givenAgentDesk, inPlace, places, runClerk } from '../../../test/cli/agents.ts'
import type { RunEvent, RunRecord } from '../../model/run.ts'

const refund = 'call desk_refund {}'

describe.each(places)('ambit runs, %s [F-18]', (place) => {
  test('a list shows trees, newest first, and takes filters; only auditors see the runs of others [G-70]', async () => {
    const desk = await givenAgentDesk()
    await inPlace(place, desk, async (at) => {
      const { run_id: parent } = await runClerk(
        desk.gran,
        'call agent_helper {"input":"hi"}',
        '--grant',
        'acme/eu',
        ...at,
      )
      const { run_id: other } = await runClerk(desk.dev, 'hi', ...at)
      const listed = (await desk.admin.good('runs', 'list', ...at)).out.split('\n').map((line) => line.trimEnd())
      const rows = listed.slice(1, -1).map((line) => line.replace(/^( *\S+ +\S+ +\S+) +\S+ +(.*)$/, '$1  $2'))
      assert.match(listed[0] ?? '', /^RUN +AGENT +STATUS +STARTED +WHO +GRANTS$/)
      assert.equal(rows.length, 3)
      for (const [index, pattern] of [
        new RegExp(`^${other} +clerk +completed +dev +–$`),
        /^ {2}run_\w+ +helper +completed +gran +acme\/eu$/,
        new RegExp(`^${parent} +clerk +completed +gran +acme/eu$`),
      ].entries())
        assert.match(rows[index] ?? '', pattern)
      const idsOf = async (shell: AgentDesk['dev'], ...words: string[]) =>
        (await shell.good('runs', 'list', '--json', ...words, ...at))
          .json<{ runs: RunRecord[] }>()
          .runs.map(({ agent_id, run_id }) => (agent_id === 'helper' ? 'child' : run_id))
      assert.deepEqual(await idsOf(desk.dev), [other])
      assert.deepEqual(await idsOf(desk.admin, '--root', parent), ['child', parent])
      assert.deepEqual(await idsOf(desk.admin, '--agent', 'clerk'), [other, parent])
      assert.deepEqual(await idsOf(desk.admin, '--grant', 'acme/eu', '--agent', 'clerk'), [parent])
      assert.deepEqual(await idsOf(desk.admin, '--status', 'failed'), [])
      const page = await desk.admin.run('runs', 'list', '--limit', '1', ...at)
      const [, cursor = ''] = /^more: --cursor (\S+)\n$/.exec(page.err) ?? assert.fail(page.err)
      assert.deepEqual(await idsOf(desk.admin, '--cursor', cursor), ['child', parent])
    })
  })

  test('watching goes on from any event, and ends with the run [G-70]', async () => {
    const desk = await givenAgentDesk()
    await inPlace(place, desk, async (at) => {
      const { run_id: id } = await runClerk(desk.dev, 'hi', ...at)
      const { out } = await desk.dev.good('runs', 'watch', id, ...at)
      assert.match(
        out,
        /^ {3}1 {2}[\d:]{8} {2}run\.started +clerk: hi\n[\s\S]*\n {3}4 .* run\.finished +completed heard hi/,
      )
      const rest = (await desk.dev.good('runs', 'watch', id, '--since', '2', '--json', ...at)).out.trimEnd().split('\n')
      assert.deepEqual(
        rest.map((line) => (JSON.parse(line) as RunEvent).event_id),
        [3, 4],
      )
    })
  })

  test('a run that waits is resumed to the same wait, or cancelled, once [G-73]', async () => {
    const desk = await givenAgentDesk()
    await inPlace(place, desk, async (at) => {
      const { run_id: id, status } = await runClerk(desk.dev, refund, ...at)
      assert.equal(status, 'paused')
      const resumed = await desk.dev.run('runs', 'resume', id, ...at)
      assert.deepEqual([resumed.code, /^PAUSED /.test(resumed.out)], [1, true], resumed.out)
      assert.equal((await desk.dev.good('runs', 'cancel', id, ...at)).out, `${id}: its end is asked for\n`)
      const { out } = await desk.dev.good('runs', 'watch', id, ...at)
      assert.match(out, /run\.paused +until people decide\n[\s\S]*run\.finished +cancelled run_cancelled\n$/)
      assert.equal(out.match(/run\.paused/g)?.length, 1)
      assert.match((await desk.dev.good('runs', 'show', id, ...at)).out, /^CANCELLED {2}clerk@1\.0\.0/)
      for (const command of ['cancel', 'resume']) {
        const again = await desk.dev.run('runs', command, id, ...at)
        assert.deepEqual([again.code, again.err], [1, `error: run \`${id}\` has ended (run_finished)\n`])
      }
    })
  })

  test('the run of another is not there for those who may not audit [G-75]', async () => {
    const desk = await givenAgentDesk()
    await inPlace(place, desk, async (at) => {
      const { run_id: id } = await runClerk(desk.gran, refund, ...at)
      for (const command of ['show', 'watch', 'cancel', 'resume']) {
        const { code, err } = await desk.dev.run('runs', command, id, ...at)
        assert.deepEqual([code, err], [1, `error: run \`${id}\` not found (run_not_found)\n`])
      }
      await desk.admin.good('runs', 'show', id, ...at)
    })
  })

  test('revoked grants end for open runs: what they held is told, and a call under them is refused [G-27]', async () => {
    const desk = await givenAgentDesk()
    await inPlace(place, desk, async (at) => {
      const revoke = (...words: string[]) => desk.gran.good('grants', 'revoke', ...words, ...at)
      assert.equal((await revoke('path', 'acme/eu')).out, 'no open run holds any of these\n')
      const { run_id: id } = await runClerk(desk.gran, refund, '--grant', 'acme', '--grant', 'acme/eu', ...at)
      const { out } = await revoke('path', 'acme/eu', '--reason', 'over')
      assert.match(out, /^ENDED +PATH +RUN\ngr_\w+ +acme\/eu +run_\w+\nstill covered by acme of run_\w+\n$/)
      const ended = (await revoke('run', id, '--cancel')).out
      assert.match(ended, new RegExp(`\\n${id}: its end is asked for\\n$`))
      const refused = await desk.dev.run('grants', 'revoke', 'path', 'acme', ...at)
      assert.deepEqual([refused.code, /\(caller_not_permitted\)/.test(refused.err)], [1, true])
      assert.equal((await desk.gran.run('grants', 'revoke', 'colour', 'red', ...at)).code, 2)
    })
  })

  test('an auditor reads under which grants a call was made, what it touched, what was hidden, and who said no [G-71 H-48]', async () => {
    const desk = await givenAgentDesk()
    await inPlace(place, desk, async (at) => {
      const { run_id: noted } = await runClerk(
        desk.gran,
        'call memory_write {"content":"Bo"}',
        '--grant',
        'acme/eu',
        ...at,
      )
      const trace = (await desk.admin.good('evidence', 'trace', noted, ...at)).out
      assert.match(
        trace,
        /memory\.write 1\.0\.0\n[^\0]*\n {2}granted {5}acme\/eu, to read-write\n {2}touched {5}acme\/eu\n/,
      )
      const { run_id: blind, waits_for } = await runClerk(desk.dev, refund, ...at)
      const hidden = /\n {2}granted {5}nothing\n {2}hidden {6}grant_missing: memory_topics, /
      assert.match((await desk.admin.good('evidence', 'trace', blind, ...at)).out, hidden)
      const refused = `tool_${blind.slice(4)}t0c0`
      const explained = async () => (await desk.admin.good('explain', refused, ...at)).out
      assert.match(await explained(), /\n {2}next +wait for 1 approval by team_lead/)
      await desk.ida.good('approvals', 'deny', waits_for[0] ?? '', ...at)
      assert.match(await explained(), /\n {2}denied by +ida\n {2}granted +nothing\n {2}next +ambit evidence trace /)
    })
  })
})
