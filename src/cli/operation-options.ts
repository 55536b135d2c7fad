import { type Command, Option } from 'commander'
import { Failure } from '../base/failure.ts'
import { parseAs } from '../model/parse.ts'
import { jsonSchemaOf, schemaOf } from '../model/schemas.ts'
import type { Operation } from '../operations/operation.ts'
import { objectInput } from './terminal/files.ts'
import type { Io } from './terminal/io.ts'
import { several, wholeNumber } from './terminal/options.ts'

/** How a member of the input is written, `--role <name>` or the name of an argument, and its help. */
export type Words = readonly [form: string, help?: string, needed?: 'needed']

/** Members of an input that are not said here are written by their own names; those that are `false` are not offered. */
export type InputWords = Readonly<Record<string, Words | false | undefined>>

interface MemberSchema {
  readonly type?: string
  readonly enum?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
}

/** A member of an input as a command takes it: `written` as people write it, `--role` or `key-id`. */
interface Member {
  readonly name: string
  readonly type: string | undefined
  readonly written: string
  readonly value: () => unknown
}

/** Gives a command the arguments and options of an operation, as its schema has them. */
export function addInput(command: Command, operation: Operation, words: InputWords) {
  const { properties = {}, required = [] } = jsonSchemaOf(operation.input) as {
    readonly properties?: Readonly<Record<string, MemberSchema>>
    readonly required?: readonly string[]
  }
  const offered = Object.keys(properties).filter((name) => words[name] !== false)
  const isArgument = (name: string) => operation.args.includes(name) && !String(words[name]).startsWith('--')
  const args = operation.args.filter((name) => offered.includes(name) && isArgument(name))
  const members = [...args, ...offered.filter((name) => !isArgument(name))].map((name, index): Member => {
    const schema = properties[name] ?? {}
    const [form = name, help = '', needed] = words[name] || (isArgument(name) ? [] : usualWords(name, schema))
    if (isArgument(name)) {
      command.argument(`<${form}>`, help)
      return { name, type: schema.type, written: form, value: () => command.processedArgs[index] }
    }
    const option = optionFor(schema, form, help).makeOptionMandatory(needed === 'needed' || required.includes(name))
    command.addOption(option)
    const value = () => command.getOptionValue(option.attributeName())
    return { name, type: schema.type, written: option.long ?? form, value }
  })
  return {
    /** True for a list that comes in pages. */
    isPaged: 'cursor' in properties,
    /** What was typed, by the members of the input; objects are read from where they were said to be. */
    read: (io: Io) => readMembers(io, members),
    /** Refuses an input that does not fit its schema, in the words of the command line. */
    check: (input: unknown) => checkInput(operation, input, members),
  }
}

function optionFor(schema: MemberSchema, form: string, help: string): Option {
  const isArray = schema.type === 'array'
  const option = new Option(form, isArray ? `${help}; may be given several times` : help)
  if (isArray) option.argParser(several)
  if (schema.enum !== undefined) option.choices(schema.enum)
  if (schema.type === 'integer') option.argParser(wholeNumber(schema.minimum, schema.maximum))
  return option
}

const usualWords = (name: string, { type }: MemberSchema): Words => {
  const [help = '', value = type === 'integer' ? 'n' : 'text'] = usualHelp[name] ?? []
  return [`--${name.replaceAll('_', '-')}${type === 'boolean' ? '' : ` <${value}>`}`, help]
}

const usualHelp: Readonly<Record<string, readonly [help: string, value?: string]>> = {
  limit: ['how many at most, up to 1000 (default: 50)'],
  cursor: ['go on where the last page ended'],
  since: ['from this time on: RFC 3339, or an age such as 7d', 'time'],
  until: ['before this time: RFC 3339, or an age such as 1h', 'time'],
}

async function readMembers(io: Io, members: readonly Member[]): Promise<Record<string, unknown>> {
  const input: Record<string, unknown> = {}
  for (const { name, type, written, value } of members) {
    const given = value()
    if (given !== undefined) input[name] = type === 'object' ? await objectInput(io, written, String(given)) : given
  }
  return input
}

function checkInput({ input: schema }: Operation, input: unknown, members: readonly Member[]): void {
  try {
    parseAs(schemaOf(schema), input, 'request')
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const [, name, ...below] = String(error.data['pointer']).split('/')
    const member = members.find((each) => each.name === name)
    // What came from a file has its place there.
    if (member === undefined && below.length > 0) throw error
    const { written = name, type } = member ?? {}
    const inside = type === 'object' && below.length > 0 ? `: \`/${below.join('/')}\`` : ''
    const message = error.message.replace(/^request(: `\S*`)?/, () => `\`${written}\`${inside}`)
    throw new Failure(error.code, message, error.data, error.help)
  }
}
