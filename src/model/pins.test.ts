import assert from 'node:assert/strict'
import { test } from 'vitest'
import { objectHash } from '../base/hash.ts'
import { jsonSchemaOf, listSchemas } from './schemas.ts'

// A line that turns red asks: was this change of a wire or disk shape meant? Words for people are not pinned.
const pins: Readonly<Record<string, string>> = {
  actor: 'sha256:95ce168d8f47d00dd1974221963c61845458edde017fc2da65efea8e8fe91486',
  'adapter-provenance': 'sha256:f4a289eb4df3bae668a8481250b76aa327d77d020ba84ea3971fb73c86c65289',
  'anchor-list': 'sha256:5d3c43a4a327fb6e4faae2e5442ece09a6f2e02e117e5645c4ca0ef1893fc5e5',
  'anchor-receipt': 'sha256:6f93e46cc1155a16dba57b39ac8647a0e015e0862d8074b12fb688053c1215d3',
  'api-key': 'sha256:39c2055e8ca17b8b8fcaf1249994eb084fe7f0da1cbe900ee98e467fdb7daa4a',
  'approval-decision': 'sha256:21beecca2cbe209e233824a84e7a0b8dc0ca16275d884197c89bef4cd106b162',
  'approval-grant': 'sha256:23b9d18549775980d8061b2cf9255903077b87998f0cf6f471f31b36aeefe005',
  'approval-list': 'sha256:c9360f108672da4ee61d014f2d6aa055b4db869e223f31af0647e4da7351a4c0',
  'approval-request': 'sha256:e18be0e4f0b5c93e8d082e6462478f3d03580a468a9ebbe8efc5c845a8901332',
  'approval-vote': 'sha256:312df0723f90e0fd6fc1820a999772fd41d0586874c2f3f082ca481b868e1a84',
  approver: 'sha256:9b94f330ef04b739c3bc4908ff0ead59300733105d402c8b5dd01c4f13202e71',
  'auth-token': 'sha256:05b096c338fab06f48240fee4f637943a034c5d255c3a1c9f23c6af259d66136',
  'call-error': 'sha256:d2515ac1a90c2dddd009c9d453e90f29890e191d3095809e659de0d984eea6e0',
  'call-preview': 'sha256:167fa6db8e02cd96e021fcdf3dbb433dc614cc682e83e465ac7fca2ca5796284',
  'call-record': 'sha256:4943d852451dc6e225c85bb0654368310f3ae447847822d6970189c9458bd1bd',
  'capability-descriptor': 'sha256:2dfca29461d710924364afac628cdc4f307c0c750bca1956c0cf383988e9ebe9',
  'capability-list': 'sha256:882ae2e99d459632907e3ddea60b2c7a160651acad0e8f55134d2dc4e27243a2',
  'capability-metadata': 'sha256:bd86ba90e0026781a430abb819be83a7661c17e6691c8d050ecfa9e1c6739dd7',
  'chain-report': 'sha256:45608fb2901114897f0adba405e6db140ea840376220262780d1dee923694056',
  'chain-witness': 'sha256:6ee19f20e08d16fb7c193a94b30aa88c0cc847d27d5261001d78ecf2e00c6aeb',
  checkpoint: 'sha256:7669f8d35eff808980f61ff055970e59327db21af08f863f6dfc7957f3c92dfa',
  config: 'sha256:3c4f3a974a4974812f8d1e60823fe09477c03c9297e95e29debe4c153a0c5ce5',
  'context-contract': 'sha256:222144fe698a9ca98828568f0d5171f1ca1eac46e7f35113ef5fa3bd1c0275cb',
  correlation: 'sha256:82d9dd08f3425a35e24210a96a34233b83a560034cad5ffb5828273ca0662a53',
  denial: 'sha256:e827eacf0de073e84f8cb7f1afbd6e4a5cd600ae5037ea24246825bb0201ef2a',
  'dsse-envelope': 'sha256:1ed082fc0534b997076f7a373885743e5dc8e0e7ad77fd4e367e437e379109c2',
  'evidence-bundle': 'sha256:c0aa9dff1258371d5b07b9250cd0f6db937de99d95c6dd23e0f6db879647b6b0',
  'evidence-bundle-received': 'sha256:541fcd6f760dd63dfbef9f3961d8e4b4b1a3a3c9e7bb466835ab0a299bd0e129',
  'evidence-event': 'sha256:6e22cac3606f90d829723344b333ad6fc6b93d4fccdaa0e0a8bd4261b1b78708',
  'evidence-event-received': 'sha256:84ea70101ef467d33ce86a2d925b39ba3e2b553576dca25303f7291624e6d097',
  grant: 'sha256:620e1c3ffdd467842d86833fe6ce3a017d409016920c1318abf569e1d576fe9f',
  'grant-path': 'sha256:0a1189b7f0cb0239e3cce7f4d0dd5ff18179087dee62a6d61c62342798455de0',
  health: 'sha256:7bac46a0dec4214fe93010dc7a1f45028b7b9cefc5613226a37da1cb86509f1e',
  'host-descriptor': 'sha256:8cacaadbfd00ac774a104ab9a5dedd76779279dde54e823a6849d409e2131633',
  'host-identity': 'sha256:83b1f1ac58b5d5d9e43b2e140b5f1829d03b12d59e7d1a2d904fb28d6e450327',
  'identity-document': 'sha256:d50d244be1415ea6783d2d11b9ac41add4f5cf656b98158da0ec99290b8db239',
  'invocation-envelope': 'sha256:5a89d0ae4d1e4d9aa0b3c269c13e1e8aab62090f53ce56ea3f629d50d4923b13',
  'invocation-envelope-received': 'sha256:b4bd25f3efadcc74787c4d190aaaa58067c2f0b18a8ab073fdb81aa8d2a25a53',
  'invocation-result': 'sha256:bd0e8ced26689d77d98976ff401147c94a4db78220ca7fd93f72bd6d48b6c5a8',
  'issued-key': 'sha256:47bbd2882415ffb363bc3b2ed677b998c901c3edeeb1fd7e5efde4f5f0386e84',
  'key-rotation': 'sha256:83f57d19170f49f37d877b4c691d31fc928f137979bc214b36c062e9f8f8ca9b',
  mandate: 'sha256:40cd3a84a1d3d9e85b45e6b4bec6ff09c02c235fa2a4a109e68735f98971b81f',
  'mandate-revocation': 'sha256:cfffddd838df9b7a1fc4c0be6c3bc87dab2ceb968502b3cf59d478ce2688ba1d',
  policy: 'sha256:00f72fb5a8ba5c429e3ecb087725543f0d784aaa8a4b1322ee099cfceca458f7',
  'policy-test': 'sha256:b28e6de33d93b0bea841cd1a432d00b6f735972457ebb4f68929332493e857f9',
  principal: 'sha256:55e44ed52e897a259d80773604952cd06fe035d51e89196b48da40120d432793',
  problem: 'sha256:b3d670c279cfd33e58815082fa0e76818396db71e3e0fc42494d4189de8fe3ff',
  'replay-query': 'sha256:8657da670a120d1a5ffb14421b1ea7b2b56d2b9861b0f1b23574e2932df662c2',
  'replay-result': 'sha256:a3985b8b25d89fddc65fdcd589dc854c97e4a293f0cd3a1f3c38850d440e8051',
  'revocation-list': 'sha256:1d04f157ee9d6514d051afe86f4f7adca60c56bfb2be0165a8ca0cb88cd2792a',
  'revocation-receipt': 'sha256:a117fcef0bae905c84df122e0d7a31b4296b198ee9c297c59d2b70e2c97a9d8a',
  'signing-key': 'sha256:66d006980eb12ab2fc612959365d338236b70f5c3234321a66831b328c6c050d',
  'store-head': 'sha256:99fca7681e5c078045554bc976906182d7f454a3280ac396f82363b29315db1f',
  'store-head-anchor': 'sha256:727b111fe4fd42bb5a219cf4e239952c382dd5f15e5b9197d879aeb80ba86a54',
  'store-head-consistency': 'sha256:367bee250a8bc7572b2cddf2051a82f18864b68490c805a6b44a41463b511dec',
  'store-head-inclusion': 'sha256:6009509bf9caca46af6fce76ec763b27c6df6db7f51009ce4cb21966ec1d343e',
  'store-head-monitor-report': 'sha256:8afbc8efa9b79da96a8db976e483aeb8b0ffa5a7bf8d978f2a86b7ad0947a6e0',
  subject: 'sha256:479d9348efaa2fe55017629b688ce397744f1881771ca3dcb5cee94040c2d070',
  'task-bundle': 'sha256:c7e7fa803ff7db8a1593edf866b8256f485b1b291aae2069fa850fe284cd13d4',
  tenant: 'sha256:9ef51bea0e84d72082c873546a45c171a04fa7dc517efcb6653390b94e9d1003',
  upstream: 'sha256:e2cb52c90661463b8f2e30de953b7d11bc1924260d32db2bae30f19b9023fbb6',
  'wire-error': 'sha256:b29a871bd8f0b2a896f4f789eecf976d8712e091b80315cd66165859257f3a69',
  'witness-list': 'sha256:815d88f1a9856c005b70c6dcec53d5d91da15133fdba8dd98279c88ce36a63bd',
  'witness-receipt': 'sha256:b9eafedf1632338a0be8acc77a1f2113dbccf7be3fe768a30c9c044a12247cb3',
}

test('no shape changes unnoticed [F-06]', () => {
  const found = listSchemas().map(({ name }) => {
    const { title, description, ...shape } = jsonSchemaOf(name)
    return [name, objectHash(shape)]
  })
  assert.deepEqual(Object.fromEntries(found), pins)
})
