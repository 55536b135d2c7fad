import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { givenAgentDesk, inPlace, places, runClerk } from '../../../test/cli/agents.ts'
import type { EraseReceipt } from '../../model/requests.ts'

const remember = (content: string): string => `call memory_write ${JSON.stringify({ content, topics: ['mail'] })}`

describe.each(places)('ambit memory, %s [F-18]', (place) => {
  test('an entry is listed in its scope alone, read with its history, and forgotten', async () => {
    const desk = await givenAgentDesk()
    await inPlace(place, desk, async (at) => {
      await runClerk(desk.gran, remember('Ada wants mail on Mondays.'), '--grant', 'acme/eu', ...at)
      const { out } = await desk.admin.good('memory', 'list', 'acme/eu', ...at)
      const [, entry = ''] =
        /^ENTRY +STATE +TOPICS +WRITTEN +CONTENT\n(mem_\w+) +active +mail +\S+ by clerk +Ada wants mail/.exec(out) ??
        assert.fail(out)
      for (const scope of ['acme', 'acme/eu/desk', 'acme/e'])
        assert.equal((await desk.admin.good('memory', 'list', scope, ...at)).out, 'none in this scope itself\n')
      await desk.admin.good('memory', 'forget', entry, '--reason', 'wrong', ...at)
      const read = (await desk.admin.good('memory', 'read', entry, ...at)).out
      assert.match(read, / {2}scope {4}acme\/eu\n {2}state {4}forgotten\n {2}topics {3}mail\n {2}content {2}Ada wants/)
      assert.match(read, / {2}history {2}\S+Z {2}stored {2}gran {2}clerk {2}run_\w+\n +\S+Z {2}forgotten {2}admin\n/)
      assert.match((await desk.admin.good('memory', 'list', 'acme/eu', ...at)).out, /\nmem_\w+ +forgotten /)
    })
  })

  test('an erase takes a scope, with what lies below it if it is told to, and leaves the rest [G-77]', async () => {
    const desk = await givenAgentDesk()
    await inPlace(place, desk, async (at) => {
      for (const scope of ['acme', 'acme/eu', 'acme/eu/desk', 'acme/us'])
        await runClerk(desk.gran, remember(`kept in ${scope}`), '--grant', scope, ...at)
      const { out } = await desk.admin.good('memory', 'erase', 'acme/eu', '--recursive', '--reason', 'left', ...at)
      assert.match(out, /^rcpt_\w+: complete\n {2}memory +2 entries, /)
      const left = []
      for (const scope of ['acme', 'acme/eu', 'acme/eu/desk', 'acme/us'])
        if (/kept/.test((await desk.admin.good('memory', 'list', scope, ...at)).out)) left.push(scope)
      assert.deepEqual(left, ['acme', 'acme/us'])
      const receipt = (await desk.admin.good('memory', 'erase', 'acme/us', '--json', ...at)).json<EraseReceipt>()
      assert.deepEqual([receipt.status, receipt.scope, receipt.by], ['complete', 'acme/us', 'admin'])
      assert.doesNotMatch(JSON.stringify(receipt), /kept/)
    })
  })

  test('who may not, and what is not there, is refused in words that say so [G-23 G-75]', async () => {
    const desk = await givenAgentDesk()
    await inPlace(place, desk, async (at) => {
      for (const words of [
        ['list', 'acme/eu'],
        ['read', 'mem_1'],
        ['forget', 'mem_1'],
        ['erase', 'acme/eu'],
      ]) {
        const { code, err } = await desk.dev.run('memory', ...words, ...at)
        assert.deepEqual([code, /\(caller_not_permitted\)\n {2}\S/.test(err)], [1, true], err)
      }
      const refused = async (...words: string[]) => (await desk.admin.run('memory', ...words, ...at)).err
      assert.match(await refused('list', 'brill'), /\(grant_outside_root\)\n/)
      assert.match(await refused('erase', 'brill'), /\(grant_outside_root\)\n/)
      assert.match(await refused('list', 'acme/*'), /\(grant_invalid\)\n/)
      assert.match(await refused('read', 'mem_0000000000000000'), /\(memory_not_found\)\n/)
    })
  })
})
