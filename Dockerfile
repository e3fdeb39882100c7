# The server, and the command beside it: docker compose exec server pixstate ...
FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc tsconfig.json tsconfig.build.json ./
COPY scripts/build.js scripts/bundle.ts scripts/charts.ts scripts/assets.ts scripts/
COPY machines machines
COPY src src
# npm ci builds; dist is a link to the newest build, and what is copied below must be a folder.
RUN npm ci && npm prune --omit=dev --ignore-scripts && cp -rL dist built

FROM node:24-slim
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/built dist
# Without MONGODB_URI the embedded store lies here: mount a volume of one server's own.
ENV DATA_DIR=/data
RUN mkdir /data && chown node:node /data && ln -s /app/dist/src/cli/pixstate.js /usr/local/bin/pixstate
USER node
EXPOSE 3000
# Ready, not only alive: without its database the server is up and unhealthy.
HEALTHCHECK --interval=5s --timeout=4s --start-period=20s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 3000}/readyz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# What npm start runs, without npm in between: signals reach the server, which ends within 10 seconds.
# Start it with an init (--init, init: true): as process 1 it couldn't end itself where a shutdown hangs.
CMD ["sh", "-c", "exec node --max-semi-space-size=32 --heap-growing-percent=100 ${MONGODB_URI:+--max-semi-space-size=64 --heap-growing-percent=0} dist/src/main.js"]
