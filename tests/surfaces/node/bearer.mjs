// A proxy that adds a bearer token, for clients that know none. It takes its own port for the server's; all else of a
// request passes as it came, foreign hosts and origins too.
import http from "node:http";

const [port, token] = process.argv.slice(2);
const proxy = http.createServer((request, answer) => {
  const headers = { ...request.headers, authorization: `Bearer ${token}` };
  for (const name of ["host", "origin"]) {
    if (headers[name]) headers[name] = headers[name].replace(`:${proxy.address().port}`, `:${port}`);
  }
  const { method, url: path } = request;
  const onward = http.request({ host: "127.0.0.1", port, method, path, headers, setHost: false }, (found) => {
    answer.writeHead(found.statusCode, found.headers);
    found.pipe(answer);
  });
  onward.on("error", () => answer.destroy());
  request.pipe(onward);
});
proxy.listen(0, "127.0.0.1", () => console.log(proxy.address().port));
