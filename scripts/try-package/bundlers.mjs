// The bundlers with the settings that the README documents.
export const bundlers = [];
