import { join, relative, resolve } from 'node:path'
import { shown } from '../../base/failure.ts'
import { agentFiles, readAgent } from '../../runtime/agents/agent-files.ts'
import { addNew } from '../new-file.ts'
import { operationGroup } from '../operation-command.ts'
import { found, type Io, line, paint, plain, printJson, type Register } from '../terminal/io.ts'
import { printColumns } from '../terminal/table.ts'

const operations = operationGroup('agents', {
  list: {
    print: (io, { agents }) =>
      printColumns(io, agents, 'none: name manifests, or a folder of them, under `agents` in the configuration', {
        AGENT: ({ id, version }) => `${id}@${version}`,
        KIND: ({ kind }) => kind,
        TOOLS: ({ tools }) => tools.join(', ') || '–',
        RESOURCES: ({ resources }) => resources.map(({ name, mode }) => `${name} (${mode})`).join(', ') || '–',
      }),
  },
})

const register: Register = (agent, io) => {
  operations(agent, io)
  addNew(agent, io, {
    named: 'id of an agent',
    path: (id) => join('agents', `${id}.yaml`),
    text: template,
    next: (path, id) => [
      "next: name the folder in the configuration, `agents: ['agents']`, with a model under `models`; then",
      `  ambit agent validate ${path} && ambit run ${id} --input "…"`,
    ],
  }).description('write a commented manifest to agents/<id>.yaml')
  agent
    .command('validate <file...>')
    .description('read manifests, files or folders of them, and say what is wrong and where')
    .option('--json', 'print JSON for programs')
    .addHelpText(
      'after',
      '\nReads each file by itself: `ambit agent list` says whether what they name exists. Exit 0: all load. 1: one does not.',
    )
    .action((paths: readonly string[], { json }: { readonly json?: true }) => {
      const files = paths.flatMap((path) => agentFiles({ path: resolve(io.cwd, path), name: path }))
      const results = files.map((file) => ({ file: relative(io.cwd, file.path), ...checked(file) }))
      if (results.some(({ problem }) => problem !== null)) found(io)
      json ? printJson(io, { manifests: results }) : printChecked(io, results)
    })
}
export default register

function checked(file: { readonly path: string; readonly name: string }) {
  try {
    const { manifest } = readAgent(file).definition
    return { agent: `${manifest.id}@${manifest.version}`, problem: null }
  } catch (error) {
    const { code, message, data, help } = shown(error)
    return { agent: null, problem: { code, message, data, help } }
  }
}

function printChecked(io: Io, results: readonly ({ readonly file: string } & ReturnType<typeof checked>)[]): void {
  for (const { file, agent, problem } of results) {
    line(io, problem ? `${paint(io, 'red', 'NOT GOOD')}  ${plain(problem.message)}` : `GOOD  ${plain(file)}  ${agent}`)
    if (problem?.help !== undefined) line(io, `          ${plain(problem.help)}`)
  }
}

const template = (
  id: string,
): string => `# An agent: a model that works with tools and resources under the grants of its run.
id: ${id}
version: 1.0.0
kind: llm
description: Says what this agent is for, to a model that may call it.
instruction: |
  You are ${id}. Answer in one sentence.
# The name of a model under \`models\` in the configuration; without it \`default\`.
# model: default
# Capabilities that it may call, and other agents as \`agent.<id>\`.
tools: []
resources:
  # Shown to the model as memory_topics, memory_read and memory_write, as far as the run is granted a path:
  # ambit run ${id} --input "…" --grant acme/desk
  memory:
    mode: read-write
# What children of this agent may hold at most: delegate: none | read | read-write
session:
  maxMessages: 50
`
