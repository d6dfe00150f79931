// common: what all parts of an extraction use. The parts are joined into one
// function that runs in an isolated world; this file comes first.
function extract(o) {
  const out = {};
  for (const part of ["pageInfo", "content", "readability"]) {
    if (o[part])
      out[part] = o[part](o);
  }
  return out;
}
