import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { givenAgentDesk, inPlace, places, runClerk } from '../../../test/cli/agents.ts'
import type { RunEvent, RunRecord } from '../../model/run.ts'
import type { Io, Signal } from '../terminal/io.ts'

const write = 'call memory_write {"content":"Ada wants mail on Mondays."}'

describe.each(places)('ambit run, %s [F-18]', (place) => {
  test('says how a run ended, what it might touch, what is missing and why [G-71]', async () => {
    const desk = await givenAgentDesk()
    await inPlace(place, desk, async (at) => {
      const { out } = await desk.gran.good('run', 'clerk', '--input', write, '--grant', 'acme/desk', ...at)
      assert.match(out, /^COMPLETED {2}clerk@1\.0\.0 {2}run_\w{16}\n {2}result {4}done\n {12}with memory_write\n/)
      for (const part of [
        / {2}grants {4}acme\/desk\n {2}tools {5}desk_refund, agent_helper, memory_topics, memory_read, /,
        / {2}warnings {2}cost_unknown: .*\n {2}used {6}1 call, 2 turns, 0 tokens, cost unknown\n/,
        / {2}proof {5}ambit evidence export run_\w{16}\n$/,
      ])
        assert.match(out, part)
      const without = await desk.dev.good('run', 'clerk', '--input', 'hi', ...at)
      const missing = ['topics', 'read', 'write', 'correct', 'forget'].map((tool) => `memory_${tool}`).join(', ')
      assert(without.out.includes(`  hidden    grant_missing: ${missing}\n`), without.out)
    })
  })

  test('a grant needs the right to mint, and lies below a root of the tenant; nothing is run before [G-22 G-23]', async () => {
    const desk = await givenAgentDesk()
    await inPlace(place, desk, async (at) => {
      const refused = await desk.dev.run('run', 'clerk', '--grant', 'acme/desk', ...at)
      assert.equal(refused.code, 1)
      assert.match(
        refused.err,
        /^error: this credential cannot set grants \(grant_not_mintable\)\n .*role `grantor`.*\n$/,
      )
      const outside = await desk.gran.run('run', 'clerk', '--grant', 'brill/desk', ...at)
      assert.match(outside.err, /^error: grant `brill\/desk` is outside this tenant \(grant_outside_root\)\n/)
      assert.match((await desk.gran.run('run', 'clerk', '--grant', 'acme/*', ...at)).err, /\(grant_invalid\)\n/)
      const anyone = await desk.dev.with({ env: {} }).run('run', 'clerk', ...at)
      assert.match(anyone.err, /\(unauthenticated\)\n {2}\S/)
      assert.deepEqual((await desk.admin.good('runs', 'list', '--json', ...at)).json(), { runs: [] })
    })
  })

  test('its steps come as they happen, those of a child further in; for programs each is a line, and the record the last [G-72]', async () => {
    const desk = await givenAgentDesk()
    await inPlace(place, desk, async (at) => {
      const words = ['run', 'clerk', '--input', 'call agent_helper {"input":"look"}', '--stream', ...at]
      const { out } = await desk.dev.good(...words)
      assert.deepEqual(
        out
          .split('\nCOMPLETED')[0]
          ?.split('\n')
          .map((line) =>
            line
              .slice(16)
              .replace(/(\S) +/g, '$1 ')
              .trimEnd(),
          ),
        [
          'run.started clerk: call agent_helper {"input":"look"}',
          'compile.done 0 warnings',
          'plan.proposed 1 call',
          'tool.started agent_helper {"input":"look"}',
          '  run.started helper: look',
          '  compile.done 0 warnings',
          '  plan.proposed heard look after 0, with 0 pads',
          '  run.finished completed heard look after 0, with 0 pads',
          'tool.finished agent_helper ok heard look after 0, with 0 pads',
          'plan.proposed done with agent_helper',
          'run.finished completed done with agent_helper',
        ],
      )
      const lines = (await desk.dev.good(...words, '--json')).out.trimEnd().split('\n')
      const [record, ...events] = lines.map((line) => JSON.parse(line) as RunRecord & RunEvent).toReversed()
      assert.deepEqual(
        events.toReversed().map(({ event_id }) => event_id),
        Array.from({ length: 11 }, (_, index) => index + 1),
      )
      assert.deepEqual([record?.status, record?.result], ['completed', 'done\nwith agent_helper'])
    })
  })

  test('a root that is added is one for the next run, and a path that is none adds nothing [F-18 G-75]', async () => {
    const desk = await givenAgentDesk()
    await inPlace(place, desk, async (at) => {
      const words = ['run', 'clerk', '--input', 'hi', '--grant', 'brill/eu', ...at] as const
      assert.match((await desk.gran.run(...words)).err, /\(grant_outside_root\)\n.*`ambit tenant list`/)
      assert.match((await desk.gran.run('tenant', 'add-root', 'acme', 'brill')).err, /\(caller_not_permitted\)/)
      assert.equal((await desk.admin.run('tenant', 'add-root', 'acme', 'brill', '../up')).code, 2)
      assert.match((await desk.gran.run(...words)).err, /\(grant_outside_root\)/)
      const { out } = await desk.admin.good('tenant', 'add-root', 'acme', 'brill', 'acme')
      assert.equal(out, 'tenant `acme` may grant paths under acme, brill\n')
      await desk.gran.good(...words)
      assert.match((await desk.admin.good('evidence', 'list')).out, /ambit\.tenant\.roots_added/)
    })
  })

  test('one that waits for people says what to do, and goes on after their yes [G-70]', async () => {
    const desk = await givenAgentDesk()
    await inPlace(place, desk, async (at) => {
      const { code, out } = await desk.dev.run('run', 'clerk', '--input', 'call desk_refund {"cents":5}', ...at)
      assert.equal(code, 1)
      assert.match(out, /^PAUSED /)
      const [, approval = ''] = /waits for {2}(apr_\w+): ambit approvals show \1\n/.exec(out) ?? assert.fail(out)
      const [, run = ''] = /here: ambit runs resume (run_\w+)\n/.exec(out) ?? assert.fail(out)
      const said = (await desk.ida.good('approvals', 'approve', approval, ...at)).out
      assert(said.includes(`ambit runs resume ${run}\n`), said)
      // No command but these two drives a run that waits for its turn.
      if (place === 'here') {
        await desk.dev.good('agent', 'list')
        assert.match((await desk.dev.good('runs', 'show', run)).out, /^PAUSED /)
      }
      await desk.dev.run('runs', 'resume', run, ...at)
      // Watching ends with the run.
      await desk.dev.good('runs', 'watch', run, ...at)
      const shown = (await desk.dev.good('runs', 'show', run, ...at)).out
      assert.match(shown, /^COMPLETED .*\n {2}result {4}done\n {12}with desk_refund\n/)
    })
  })

  test('Ctrl-C leaves a run as it stands, and says how to go on with it and how to end it', async () => {
    const desk = await givenAgentDesk()
    await inPlace(place, desk, async (at) => {
      const listeners: ((signal: Signal) => void)[] = []
      const onSignal: Io['onSignal'] = (listener) => {
        listeners.push(listener)
        return () => undefined
      }
      const told = (text: string) => {
        if (text.includes('run.started')) for (const each of listeners) each('SIGINT')
      }
      const { code, err } = await desk.dev
        .with({ onSignal, told })
        .run('run', 'clerk', '--input', 'wait', '--stream', ...at)
      assert.equal(code, 1)
      const [, run = ''] = /^(run_\w+) is not ended by this: .*`ambit runs resume \1`;\n/.exec(err) ?? assert.fail(err)
      assert.match(
        (await desk.dev.good('runs', 'show', run, ...at)).out,
        /^RUNNING .*\n {2}then .* ambit runs resume run_/,
      )
      await desk.dev.good('runs', 'cancel', run, ...at)
      assert.match((await desk.dev.good('runs', 'watch', run, ...at)).out, /run\.finished +cancelled run_cancelled\n$/)
    })
  })

  test('a session and a scratchpad reach the next run, and the same request id starts no second one [G-64 G-66]', async () => {
    const desk = await givenAgentDesk()
    await inPlace(place, desk, async (at) => {
      const words = ['--session', 'desk-7', '--context-id', 'shift-1', ...at]
      assert.equal((await runClerk(desk.dev, 'one', ...words)).result, 'heard one after 0, with 0 pads')
      assert.equal((await runClerk(desk.dev, 'two', ...words)).result, 'heard two after 2, with 1 pads')
      assert.equal((await runClerk(desk.dev, 'two', ...at)).result, 'heard two after 0, with 0 pads')
      const again = ['--request-id', 'ticket-9', ...at]
      const first = await runClerk(desk.dev, 'once', ...again)
      assert.equal((await runClerk(desk.dev, 'once', ...again)).run_id, first.run_id)
      const other = await desk.dev.run('run', 'clerk', '--input', 'twice', ...again)
      assert.match(
        other.err,
        /^error: request id `ticket-9` was used for another run \(request_conflict\)\n {2}use a new/,
      )
    })
  })
})

test('an input is a text, JSON, a file or what is piped in [F-18]', async () => {
  const { gran } = await givenAgentDesk()
  writeFileSync(join(gran.cwd, 'in.json'), '{"customer":"brill"}')
  const looks = async (...words: string[]) =>
    (await gran.good('run', 'two-looks', ...words, '--json')).json<RunRecord>()
  const said = (name: string) => `heard heard look at ${name} after 0, with 0 pads after 0, with 0 pads`
  assert.equal((await looks('--input', '{"customer":"acme"}')).result, said('acme'))
  assert.equal((await looks('--input', '@in.json')).result, said('brill'))
  const piped = gran.with({ stdin: async () => 'from a pipe\n' })
  const { result } = (await piped.good('run', 'helper', '--input', '-', '--json')).json<RunRecord>()
  assert.equal(result, 'heard from a pipe after 0, with 0 pads')
})

test.each<[string[], number, RegExp]>([
  [['nobody'], 1, /^error: agent `nobody` not found \(agent_not_found\)\n {2}see `ambit agent list`\n/],
  [['clerk', '--input', '{"a":'], 2, /^error: --input: .*\(json_invalid\)\n/],
  [['clerk', '--input', '@gone.json'], 2, /^error: `gone\.json` cannot be read/],
  [['clerk', '--limits', '{"calls":-1}'], 2, /^error: `--limits`: `\/calls` must be at least 0 \(field_invalid\)\n/],
  [['clerk', '--limits', '{"turns":1}'], 2, /^error: `--limits`: `\/turns` is not a known member \(field_unknown\)\n/],
  [['clerk', '--limits', '{"costCents":1}'], 1, /\(run_limit\)\n {2}list the price of the model under `prices`/],
  [['clerk', '--session', 'a b'], 2, /^error: id `a b` is not valid \(id_invalid\)\n/],
  [[], 2, /^error: missing required argument 'agent'/],
])('refused before it starts: %j [F-18 G-75]', async (words, expected, message) => {
  const { dev } = await givenAgentDesk()
  const { code, err } = await dev.run('run', ...words)
  assert.deepEqual([code, message.test(err)], [expected, true], err)
})

test('a run that fails says so, and ends with 1 [F-18]', async () => {
  const { dev } = await givenAgentDesk()
  const { code, out } = await dev.run('run', 'helper', '--input', 'fail')
  assert.equal(code, 1)
  assert.match(out, /^FAILED {2}helper@1\.0\.0 {2}run_\w+\n {2}error {5}\w+: \S/)
})
