-- What wrk sends: `wrk -s requests.lua URL -- PLAN`. A plan is a Lua file that returns
--   requests: texts of whole requests in two parts, sent in turn; between the parts comes a number
--   series:   what the numbers begin with, so that no two runs of wrk send the same one
--   rate:     requests a second; 0: the next one leaves when the answer to the one before is there
-- Prints what came out as one line of JSON, beginning with "bench "; at a steady rate before that lines of how many
-- were sent by when: "sent MILLISECONDS COUNT", of the system's monotonic clock.
local ffi = require('ffi')
ffi.cdef [[
  typedef struct { long seconds; long nanoseconds; } bench_time;
  int clock_gettime(int clock, bench_time *time);
]]
local MONOTONIC = 1
local TELL_EVERY_MS = 250
local time = ffi.new('bench_time')

local function now_ms()
  ffi.C.clock_gettime(MONOTONIC, time)
  return tonumber(time.seconds) * 1000 + tonumber(time.nanoseconds) / 1e6
end

local plan
local count = 0
local due_ms
local told_ms = 0

-- A request's own moment, so that a service that falls behind is not asked less.
local function wait()
  local now = now_ms()
  due_ms = (due_ms or now) + 1000 / plan.rate
  if now - told_ms >= TELL_EVERY_MS then
    told_ms = now
    print(string.format('sent %.0f %d', now, count))
  end
  return math.max(0, math.floor(due_ms - now))
end

function init(args)
  plan = dofile(args[1])
  if plan.rate > 0 then delay = wait end
end

function request()
  count = count + 1
  local parts = plan.requests[count % #plan.requests + 1]
  if parts[2] == nil then return parts[1] end
  return parts[1] .. plan.series .. string.format('%09d', count) .. parts[2]
end

function done(summary, latency)
  local errors = summary.errors
  print(string.format(
    'bench {"answered":%d,"seconds":%.6f,"p50":%.3f,"p99":%.3f,"worst":%.3f,"refused":%d,"broken":%d}',
    summary.requests, summary.duration / 1e6,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000, latency.max / 1000,
    errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
