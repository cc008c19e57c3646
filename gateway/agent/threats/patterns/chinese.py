"""Chinese. One form of each character will do: traditional ones are read as simplified (`variants`)."""

_IGNORE = "忽略|无视|忘记|忘掉|忽视|不理会|抛弃|不用管|不要管|别管|跳过|丢弃|撇开"
_PRIOR = "之前|以前|先前|此前|上面|上述|以上|前面|所有|全部|一切|原有|原来|原先|最初|你的|您的|系统|现有|任何|早前"
_ORDERS = "指令|指示|命令|提示词|提示|规则|规定|要求|设定|设置|指引|准则|约束"
_LIMITS = "限制|约束|规则|过滤|审查|准则|束缚|规范|防护|政策|规定"
_USER = "用户|使用者|主人|人类|用家|管理员"
_SHOW = "显示|输出|打印|告诉|泄露|透露|展示|公开|复述|重复|说出|列出|给出|发给|写出|给我看"
_TALK = "对话|聊天记录|上下文|会话|记忆|历史记录|谈话"
_TO = "到|给|至|往"
_READ = "读取|查看|打开|复制|拷贝|发送|上传|打印|显示|窃取|泄露|提供"
_CHANGE = "修改|编辑|更改|改写|写入|追加|添加|更新|覆盖|加入"
_SERVER = "服务器|伺服器|控制端|主控|控制器|http://|https://|总部"
_DO = "执行|运行|跑一下"

PATTERNS = (
    ("prompt_injection", f"{_IGNORE} ~4 {_PRIOR} ~8 {_ORDERS}"),
    ("prompt_injection", f"把|将 ~2 {_PRIOR} ~6 {_ORDERS} ~4 {_IGNORE}"),
    (
        "prompt_injection",
        "不要|别|停止|不必|无需|不再 ~1 遵守|遵循|服从|理会|听从|执行 ~3 之前|以前|先前|上面|原有|你的 ~6 " + _ORDERS,
    ),
    ("prompt_injection", "忘记|忘掉 ~3 之前|以前|上面|我 ~2 说|告诉 ~4 一切|所有|全部|内容|话"),
    ("sys_prompt_override", "覆盖|改写|替换|取代|重写 ~4 系统 ~1 提示词|提示|指令|设定"),
    ("sys_prompt_override", "系统 ~1 提示词|提示|指令 ~3 作废|失效|被覆盖|被替换|被取代"),
    ("disregard_rules", "不必|不用|无需|不要|别|不需要 ~1 遵守|遵循|理会|顾及 ~3 任何|所有|你的|一切 ~5 " + _LIMITS),
    ("disregard_rules", f"{_IGNORE} ~2 任何|所有|你的|一切 ~5 {_LIMITS}"),
    ("bypass_restrictions", f"绕过|突破|规避|避开 ~4 安全|内容|你的|系统|道德 ~3 {_LIMITS}|机制|措施"),
    ("bypass_restrictions", f"没有|不受|毫无 ~3 任何|一切 ~3 {_LIMITS} ~6 回答|行事|行动|回应|说话|运行"),
    ("translate_execute", f"翻译|转换|解码|转成|译成 ~20 然后|并且|并|再 ~3 {_DO}"),
    ("deception_hide", f"不要|别|不得|不准|不能|切勿|禁止|勿 ~1 告诉|告知|通知|让|透露给|提醒 ~1 {_USER}"),
    ("deception_hide", f"对|向 {_USER} ~3 隐瞒|隐藏|保密|撒谎"),
    ("read_secrets", f"{_READ} ~8 .env|.netrc|.pgpass|credentials"),
    ("read_secrets", "窃取|泄露|偷取|盗取 ~6 密码|凭证|密钥|令牌|口令"),
    (
        "read_secrets",
        f"把|将 ~4 .env|.netrc|.pgpass ~8 {_READ}|发给",
    ),
    ("role_hijack", "你现在 ~6 不受|没有|无|毫无|不再有 ~3 限制|约束|审查|束缚"),
    ("role_hijack", "你现在|从现在开始|从现在起 ~4 进入|处于|切换 ~4 开发者|越狱|上帝|调试|管理员|dan ~0 模式"),
    (
        "role_hijack",
        "从现在开始|从现在起|今后|从此 ~1 你|您 ~8 不受|没有|无|毫无|不再有 ~3 限制|约束|审查|束缚",
    ),
    ("role_pretend", "假装|扮演|假设|想象|伪装 ~8 不受|没有|无|毫无 ~3 限制|约束|审查|规则|道德"),
    ("leak_system_prompt", f"{_SHOW} ~6 系统|初始|隐藏|原始|开发者 ~1 提示词|提示|指令|设定"),
    ("leak_system_prompt", f"把 ~4 系统|初始|隐藏|内部|原始 ~1 提示词|提示|指令|设定 ~6 {_SHOW}"),
    ("remove_filters", f"关闭|移除|解除|禁用|取消|去掉|停用 ~5 安全|内容|道德|审查 ~2 {_LIMITS}|机制|检查"),
    (
        "fake_update",
        f"系统更新|安全更新|紧急更新|官方通知|系统升级 ~8 {_ORDERS} ~4 作废|失效|更改|替换|解除|取消|变更",
    ),
    ("fake_update", f"你的 ~4 {_ORDERS} ~2 已经|已|现已 ~2 更新|更改|替换|作废|解除|变更|失效"),
    ("identity_override", "你 ~2 不再是 ~8 助手|助理|ai|人工智能|模型|机器人|hermes"),
    ("identity_override", "你的新身份|你真正的身份|你的真实身份|忘记你是谁|忘掉你是谁"),
    ("c2_node_registration", f"注册 ~4 节点|肉鸡|僵尸|植入体 ~8 {_SERVER}"),
    ("c2_node_registration", f"向|到|在 ~4 {_SERVER} ~6 注册 ~4 节点|肉鸡|客户端"),
    ("c2_heartbeat", "发送|上报|传送 ~3 心跳|信标 ~16 任务|命令|指令"),
    ("c2_task_pull", f"从 ~6 {_SERVER} ~6 拉取|获取|领取|下载|接收 ~4 任务|命令|指令 ~6 {_DO}"),
    ("c2_network_connect", "连接|加入|接入|连到 ~5 c2|僵尸网络"),
    (
        "forced_action",
        "你必须|你务必|你一定要 ~3 立即|立刻|马上|偷偷|悄悄|秘密|暗中 ~4 执行|运行|下载|上传|发送|删除|转发|连接|安装",
    ),
    ("anti_forensic_oneliner", "只|仅 ~3 单行|一行 ~2 命令|脚本|代码 ~10 痕迹|磁盘|硬盘|日志|历史"),
    (
        "anti_forensic_disk",
        "不要|别|切勿|不得|禁止 ~2 在|向|把|将|写 ~6 磁盘|硬盘|系统|服务器 ~5 痕迹|脚本|证据|文件",
    ),
    ("anti_forensic_disk", "清除|抹去|销毁|擦除|抹掉 ~4 痕迹|证据|日志 ~1 记录|文件"),
    ("known_c2_framework", "使用|用|部署|安装|启动|运行|加载 ~4 metasploit|meterpreter|brainworm|cobaltstrike"),
    ("known_c2_framework", "使用|用|部署|安装|启动|运行 ~4 cobalt strike"),
    ("c2_explicit_long", "命令 ~1 控制 ~2 服务器|伺服器|信道|通道|节点|基础设施"),
    (
        "send_to_url",
        f"{_TALK}|密码|密钥|凭证|令牌|口令|笔记 ~6 发送|上传|发|提交|传|转发 ~3 {_TO} ~4 http://|https://",
    ),
    ("context_exfil", f"完整|全部|整个|所有 ~3 {_TALK} ~5 发送|上传|发|转发|泄露|传 ~3 {_TO} ~6 {_SERVER}|邮箱|网址"),
    (
        "context_exfil",
        f"每次|每个|每条 ~3 回复|回答|请求|链接 ~6 附上|包含|加入|带上|附带 ~3 完整|全部|整个|所有 ~3 {_TALK}",
    ),
    ("ssh_backdoor", f"{_CHANGE} ~10 authorized_keys"),
    ("ssh_backdoor", "authorized_keys ~6 添加|追加|写入|加入"),
    ("ssh_access", f"{_READ} ~8 id_rsa|id_ed25519|id_ecdsa"),
    ("ssh_access", f"{_READ} ~5 ssh ~1 私钥|密钥"),
    (
        "ssh_access",
        f"把|将 ~6 id_rsa|id_ed25519|id_ecdsa ~6 {_READ}|发给",
    ),
    ("hermes_env", f"{_READ}|{_CHANGE} ~8 .hermes|hermes .env"),
    ("agent_config_mod", f"{_CHANGE} ~8 agents|claude|gemini md"),
    ("agent_config_mod", f"把|将|在|往 ~20 {_CHANGE}|写 ~4 agents|claude|gemini md"),
    (
        "agent_config_mod",
        f"在|往|向 ~1 agents|claude|gemini md ~3 {_CHANGE}",
    ),
    ("hermes_config_mod", f"{_CHANGE} ~8 .hermes|hermes ~1 config yaml|yml|json"),
    ("hermes_config_mod", f"{_CHANGE} ~8 soul md"),
)

DECOYS = (
    *(
        no + ignore
        for no in (
            "不要",
            "不能",
            "别",
            "不可",
            "切勿",
            "请勿",
            "勿",
            "不应",
            "不得",
            "不会",
            "没有",
            "从不",
            "被",
            "容易",
            "不",
        )
        for ignore in ("忽略", "无视", "忘记", "忽视", "忘掉", "跳过")
    ),
    "命令行",
    "命令列",
    "设置为",
    "应用户",
    "特别",
    "分别",
    "区别",
    "级别",
    "个别",
)
"""Where the words are not a command: negated, told of somebody, or part of another word."""
