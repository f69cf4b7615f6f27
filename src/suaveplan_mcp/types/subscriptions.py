"""One long request that brings a server's notifications. Spec: basic/patterns/subscriptions"""

from suaveplan_mcp.types.base import NotificationParams, RequestParams, Result, WireStruct


class SubscriptionFilter(WireStruct, frozen=True, kw_only=True):
    """Choose notifications; what is not chosen is not sent.

    Args:
        resource_subscriptions: the URIs whose changes are wanted.

    Spec: basic/patterns/subscriptions
    """

    tools_list_changed: bool | None = None
    prompts_list_changed: bool | None = None
    resources_list_changed: bool | None = None
    resource_subscriptions: list[str] | None = None


class SubscriptionsListenRequestParams(RequestParams, frozen=True, kw_only=True):
    """Ask for notifications until the request ends.

    Spec: basic/patterns/subscriptions
    """

    notifications: SubscriptionFilter


class SubscriptionsAcknowledgedNotificationParams(NotificationParams, frozen=True, kw_only=True):
    """Tell which of the wanted notifications will be sent.

    Spec: basic/patterns/subscriptions
    """

    notifications: SubscriptionFilter


class SubscriptionsListenResult(Result, frozen=True, kw_only=True):
    """End a subscription. `_meta` names it (`SubscriptionsListenResultMetaObject`).

    Spec: basic/patterns/subscriptions
    """
