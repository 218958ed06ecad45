-- A fixed day's work: calls, tables, strings, closures, sorting, coroutines, metatables. Hash order is never printed.
-- Arguments: the size, and "calm" for doing without coroutines.
local size, calm = tonumber(arg[1]), arg[2] == "calm"

local function fib(n)
  if n < 2 then return n end
  return fib(n - 1) + fib(n - 2)
end

local state = 42
local function random(n)
  state = (state * 1103515245 + 12345) % 2147483648
  return state // 65536 % n
end

local function queens(n)
  local count, columns, up, down = 0, {}, {}, {}
  local function place(row)
    if row > n then count = count + 1 return end
    for c = 1, n do
      if not columns[c] and not up[row + c] and not down[row - c] then
        columns[c], up[row + c], down[row - c] = true, true, true
        place(row + 1)
        columns[c], up[row + c], down[row - c] = nil, nil, nil
      end
    end
  end
  place(1)
  return count
end

local function words(n)
  local counts = {}
  for _ = 1, n do
    local word = {}
    for i = 1, 1 + random(3) do word[i] = string.char(97 + random(4)) end
    local w = table.concat(word)
    counts[w] = (counts[w] or 0) + 1
  end
  local keys = {}
  for k in pairs(counts) do keys[#keys + 1] = k end
  table.sort(keys, function(a, b)
    if counts[a] ~= counts[b] then return counts[a] > counts[b] end
    return a < b
  end)
  local text = {}
  for i = 1, 5 do text[i] = keys[i] .. "=" .. counts[keys[i]] end
  return table.concat(text, " ")
end

local Account = {}
Account.__index = Account
function Account.new(balance) return setmetatable({ balance = balance }, Account) end
function Account:deposit(n) self.balance = self.balance + n end

local function generator(n)
  if calm then
    local i = 0
    return function()
      i = i + 1
      if i <= n then return i * i % 7 end
    end
  end
  return coroutine.wrap(function()
    for i = 1, n do coroutine.yield(i * i % 7) end
  end)
end

print("fib", fib(15 + size))
print("queens", queens(5 + size // 4))
print("words", words(size * 2000))
local account = Account.new(100)
for i = 1, size * 20000 do account:deposit(i % 13) end
print("account", account.balance)
local sum = 0
for v in generator(size * 5000) do sum = sum + v end
print("generator", sum)
local text = string.rep("the quick brown fox jumps over the lazy dog ", size * 20)
local replaced, n = text:gsub("(%w+) (%w+)", "%2 %1")
print("gsub", n, #replaced, replaced:sub(1, 30))
local numbers = {}
for i = 1, size * 1000 do numbers[i] = random(100000) end
table.sort(numbers)
print("sorted", numbers[1], numbers[#numbers], string.format("%.3f", numbers[#numbers // 2] / 7))
