/** Version of this package. @internal */
export const VERSION: string = require("../package.json").version;
