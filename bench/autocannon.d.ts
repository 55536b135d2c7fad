declare module 'autocannon' {
  interface Options {
    readonly url: string
    readonly connections: number
    readonly amount: number
    readonly method: 'POST'
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
  }
  interface Result {
    readonly '2xx': number
    readonly non2xx: number
    readonly errors: number
  }
  interface Running extends Promise<Result> {
    on(event: 'response', listener: () => void): this
  }
  export default function autocannon(options: Options): Running
}
