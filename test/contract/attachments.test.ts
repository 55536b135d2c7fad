import assert from 'node:assert/strict'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { sha256 } from '../../src/base/hash.ts'
import { createAmbit } from '../../src/library/create-ambit.ts'
import { selfSigned } from '../support/certificate.ts'
import { offerOfStock, scenario } from '../support/contract.ts'
import { givenTracer } from '../support/tracer.ts'
import { givenServer } from '../support/upstream.ts'

const sheet = 'Counted: none.'

/** A store of sheets at an address of its own, and a tenant whose way out leads there or not. */
async function givenSheets({ listed = true } = {}) {
  const tls = selfSigned()
  const before = getCACertificates('default')
  setDefaultCACertificates([...before, tls.cert])
  onTestFinished(() => setDefaultCACertificates(before))
  const server = await givenServer((response, { url }) => {
    if (url === '/moved') return response.writeHead(302, { location: 'https://169.254.169.254/' }).end()
    if (url === '/large') return response.end(Buffer.alloc(9 * 1024 * 1024))
    if (url === '/missing') return response.writeHead(404).end(sheet)
    return response.end(sheet)
  }, tls)
  const allow = listed ? [server.origin] : ['https://elsewhere.example']
  const ambit = await createAmbit({ tenant: 'tenant_fjordvik', capabilities: offerOfStock(), egress: { allow } })
  onTestFinished(() => ambit.close())
  const publish = async (name: string, beside: string[]) =>
    ambit.packs.publish((await ambit.packs.sign(parse(scenario(name)))).document, { beside })
  await publish('catalog.yaml', [])
  await publish('pack.yaml', ['decision-catalog.stock@1.4.0'])
  const { request, run_context } = parse(scenario('request.yaml'))
  const asking = (uri: string, digest = sha256(sheet), artifact_id = 'art_sheet') => {
    const attachments = [{ artifact_id, media_type: 'text/plain', sha256: digest, uri }]
    return ambit.compile({ ...request, attachments }, { run_context })
  }
  return { asking, ambit, ...server }
}

test('what is at an https address is taken through egress, if it has the hash it is named with [R-33]', async () => {
  const seen = givenTracer()
  const { asking, origin, seen: asked } = await givenSheets()
  const made = await asking(`${origin}/sheet`)
  const entry = made.manifests.evidence_manifest.find(({ evidence_ref }) => evidence_ref === 'attachment:art_sheet')
  assert.equal(entry?.hash, sha256(sheet))
  assert(made.compiled_prompt.context_blocks.some(({ content }) => content.includes(sheet)))
  const [span] = seen.filter(({ name }) => name === 'open_attachment')
  assert.equal(span?.attributes['contextos.attachment.sha256'], sha256(sheet))
  await assert.rejects(asking(`${origin}/sheet`, sha256('another')), { code: 'attachment.hash_mismatch' })
  assert.equal(asked.length, 2)
  for (const path of ['/moved', '/large', '/missing'])
    await assert.rejects(asking(origin + path), { code: 'attachment.forbidden' })
  assert.equal(seen.filter(({ attributes }) => 'contextos.attachment.sha256' in attributes).length, 1)
})

test('no other address is opened, nor one that the host does not let out to, nor one of what is registered [R-32 R-33]', async () => {
  const { asking, ambit, origin, seen } = await givenSheets()
  for (const uri of [
    origin.replace('https', 'http'),
    's3://fjordvik/sheet',
    'file:///etc/passwd',
    `data:,${sheet}`,
    '',
  ])
    await assert.rejects(asking(uri), { code: 'attachment.forbidden' })
  await assert.rejects(asking(`${origin}/sheet`, 'ab'), { code: 'attachment.hash_mismatch' })
  await ambit.artifacts.add({ id: 'art_held', media_type: 'text/plain', content: 'Held here.' })
  await assert.rejects(asking(`${origin}/sheet`, sha256(sheet), 'art_held'), { code: 'attachment.hash_mismatch' })
  await asking(`${origin}/sheet`, sha256('Held here.'), 'art_held')
  assert.equal(seen.length, 0)
  const shut = await givenSheets({ listed: false })
  await assert.rejects(shut.asking(`${shut.origin}/sheet`), { code: 'attachment.forbidden' })
  assert.equal(shut.seen.length, 0)
})
